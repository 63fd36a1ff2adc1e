/** Colours and defaults. Text colours keep a contrast of at least 4.5 to 1 in both schemes. */
import { createTheme, type CSSVariablesResolver } from '@mantine/core'

export const theme = createTheme({
  primaryColor: 'pine',
  primaryShade: { light: 8, dark: 8 },
  colors: {
    pine: ['#eef6f3', '#dcebe5', '#b5d6c9', '#8bc0ab', '#69ae92', '#53a382', '#479d79', '#378867', '#22704f', '#155a3e'],
  },
  defaultRadius: 'md',
  cursorType: 'pointer',
  respectReducedMotion: true,
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, monospace',
  headings: { fontWeight: '650' },
})

export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': '#545b63',
    '--mantine-color-placeholder': '#6a7178',
    '--mantine-color-error': '#b42318',
    '--lore-good': '#16663f',
    '--lore-good-bg': '#e3f3ea',
    '--lore-busy': '#1b5a9c',
    '--lore-busy-bg': '#e4eefa',
    '--lore-warn': '#7a4b00',
    '--lore-warn-bg': '#fdf0d5',
    '--lore-bad': '#a3201a',
    '--lore-bad-bg': '#fde8e6',
    '--lore-plain': '#4a5158',
    '--lore-plain-bg': '#eceef0',
    '--lore-other': '#6a3d9a',
    '--lore-other-bg': '#f0e8f8',
    '--lore-surface': '#f7f8f8',
    '--lore-mark': '#ffe9a8',
  },
  dark: {
    '--mantine-color-dimmed': '#a6adb4',
    '--mantine-color-placeholder': '#979ea5',
    '--mantine-color-error': '#ff9d94',
    '--lore-good': '#7ddba6',
    '--lore-good-bg': '#16382a',
    '--lore-busy': '#8fc1f5',
    '--lore-busy-bg': '#17304a',
    '--lore-warn': '#f2c36b',
    '--lore-warn-bg': '#40310f',
    '--lore-bad': '#ff9d94',
    '--lore-bad-bg': '#4a1d1a',
    '--lore-plain': '#c0c6cc',
    '--lore-plain-bg': '#363b40',
    '--lore-other': '#cfaef0',
    '--lore-other-bg': '#372649',
    '--lore-surface': '#1b1e20',
    '--lore-mark': '#6b5410',
  },
})
