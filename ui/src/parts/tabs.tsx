/** The strip of tabs of a screen. */
import { Tabs } from '@mantine/core'
import { useEffect, useRef } from 'react'

interface TabStripProps {
  label: string
  names: Readonly<Record<string, string>>
  shown: string
}

/** Tabs by name, each with its word. On a narrow screen the strip scrolls, and the open tab may be outside of it. */
export function TabStrip({ label, names, shown }: TabStripProps) {
  const strip = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const tab = strip.current?.querySelector<HTMLElement>('[aria-selected=true]')
    if (strip.current && tab) strip.current.scrollLeft = tab.offsetLeft - (strip.current.clientWidth - tab.offsetWidth) / 2
  }, [shown])
  return (
    <Tabs.List ref={strip} aria-label={label} mb="md">
      {Object.entries(names).map(([name, word]) => (
        <Tabs.Tab key={name} value={name}>
          {word}
        </Tabs.Tab>
      ))}
    </Tabs.List>
  )
}
