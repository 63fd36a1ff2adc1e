/** The few icons of the dashboard, drawn in the colour of the text. They never carry meaning alone. */
import type { ReactNode } from 'react'

function icon(children: ReactNode) {
  return function Icon({ size = 16 }: { size?: number }) {
    return (
      <svg
        width={size}
        height={size}
        viewBox="0 0 24 24"
        fill="none"
        stroke="currentColor"
        strokeWidth="2"
        strokeLinecap="round"
        strokeLinejoin="round"
        aria-hidden="true"
        focusable="false"
      >
        {children}
      </svg>
    )
  }
}

export const Nothing = icon(
  <>
    <path d="M4 13h4l1.5 3h5L16 13h4" />
    <path d="M6 5h12l2 8v5a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1v-5z" />
  </>,
)
export const Check = icon(<path d="m5 12 5 5L20 7" />)
export const Cross = icon(<path d="M6 6l12 12M18 6 6 18" />)
export const Dash = icon(<path d="M6 12h12" />)
export const Clock = icon(
  <>
    <circle cx="12" cy="12" r="9" />
    <path d="M12 7v5l3 2" />
  </>,
)
export const Arrow = icon(<path d="M5 12h14m-6-6 6 6-6 6" />)
export const Play = icon(<path d="M7 5v14l12-7z" />)
export const Pause = icon(<path d="M8 5v14M16 5v14" />)
export const Plus = icon(<path d="M12 5v14M5 12h14" />)
export const Search = icon(
  <>
    <circle cx="11" cy="11" r="6.5" />
    <path d="m16 16 5 5" />
  </>,
)
export const Sun = icon(
  <>
    <circle cx="12" cy="12" r="4" />
    <path d="M12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6 19 19M5 19l1.4-1.4M17.6 6.4 19 5" />
  </>,
)
export const Moon = icon(<path d="M20 14A8.5 8.5 0 0 1 10 4a8.5 8.5 0 1 0 10 10z" />)
export const Download = icon(<path d="M12 4v11m-5-5 5 5 5-5M5 20h14" />)
export const External = icon(<path d="M14 4h6v6M20 4l-9 9M18 14v6H4V6h6" />)
export const Copy = icon(
  <>
    <rect x="9" y="9" width="11" height="11" rx="2" />
    <path d="M5 15V5a1 1 0 0 1 1-1h10" />
  </>,
)
export const List = icon(<path d="M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01" />)
export const Globe = icon(
  <>
    <circle cx="12" cy="12" r="9" />
    <path d="M3 12h18M12 3c3 3 3 15 0 18M12 3c-3 3-3 15 0 18" />
  </>,
)
export const Pages = icon(<path d="M8 3h8l4 4v10H8zM4 7v14h12" />)
export const Film = icon(
  <>
    <rect x="3" y="5" width="18" height="14" rx="2" />
    <path d="m10 9 5 3-5 3z" />
  </>,
)
export const Sheet = icon(<path d="M6 3h8l4 4v14H6zM9 12h6M9 16h6" />)
export const Refresh = icon(<path d="M20 11a8 8 0 1 0-2.3 6M20 5v6h-6" />)
export const Leave = icon(<path d="M10 4H5v16h5M14 8l4 4-4 4M18 12H9" />)
export const Back = icon(<path d="m14 6-6 6 6 6" />)
export const Picture = icon(
  <>
    <rect x="3" y="5" width="18" height="14" rx="2" />
    <path d="m4 17 5-5 4 4 3-3 4 4" />
  </>,
)
export const Person = icon(
  <>
    <circle cx="12" cy="8" r="4" />
    <path d="M4 21c1-5 4-7 8-7s7 2 8 7" />
  </>,
)
export const Gear = icon(
  <>
    <circle cx="12" cy="12" r="3.5" />
    <path d="M12 3v3M12 18v3M3 12h3M18 12h3M5.6 5.6l2.2 2.2M16.2 16.2l2.2 2.2M5.6 18.4l2.2-2.2M16.2 7.8l2.2-2.2" />
  </>,
)
export const Warning = icon(<path d="M12 4 2.5 20h19zM12 10v4M12 17h.01" />)

export function Logo({ size = 26 }: { size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="8" fill="#176a4c" />
      <path d="M16 9v5M16 14 9 22M16 14l7 8" fill="none" stroke="#fff" strokeWidth="2.4" strokeLinecap="round" />
      <circle cx="16" cy="8.5" r="3" fill="#fff" />
      <circle cx="9" cy="22.5" r="3" fill="#fff" />
      <circle cx="23" cy="22.5" r="3" fill="#fff" />
    </svg>
  )
}
