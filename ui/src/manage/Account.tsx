/** The account of the own tenant: tokens, users, audit log. */
import type { Session } from '../api/client'
import { Screen } from '../parts/frames'
import { texts } from '../texts'
import { AuditTab } from './Audit'
import { TabsOfScreen } from './parts'
import { TokensTab } from './Tokens'
import { UsersTab } from './Users'

const TABS = { tokens: TokensTab, users: UsersTab, audit: AuditTab }

export default function AccountScreen({ session, tab }: { session: Session; tab: string }) {
  const shown = tab in TABS ? (tab as keyof typeof TABS) : 'tokens'
  const Tab = TABS[shown]
  return (
    <Screen title={texts.account.title}>
      <TabsOfScreen base="/account" shown={shown} names={texts.account.tabs} label={texts.account.tabsLabel}>
        <Tab session={session} />
      </TabsOfScreen>
    </Screen>
  )
}
