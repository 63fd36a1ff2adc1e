/** The operator's portal: tenants, queues and workers, held deletions, dead letters, backups. */
import { Screen } from '../parts/frames'
import type { Session } from '../api/client'
import { texts } from '../texts'
import { BackupsTab } from './Backups'
import { DeadLettersTab } from './DeadLetters'
import { DeletionsTab } from './Deletions'
import { TabsOfScreen } from './parts'
import { QueuesTab } from './Queues'
import { TenantsTab } from './Tenants'
import { TenantScreen } from './Tenant'

const TABS = {
  tenants: TenantsTab,
  queues: QueuesTab,
  deletions: DeletionsTab,
  'dead-letters': DeadLettersTab,
  backups: BackupsTab,
}

export default function ManageScreen({ session, tab, tenant }: { session: Session; tab: string; tenant: string }) {
  if (tab === 'tenants' && tenant) return <TenantScreen key={tenant} id={tenant} />
  const shown = tab in TABS ? (tab as keyof typeof TABS) : 'tenants'
  const Tab = TABS[shown]
  return (
    <Screen title={texts.manage.title}>
      <TabsOfScreen base="/manage" shown={shown} names={texts.manage.tabs} label={texts.manage.tabsLabel}>
        <Tab session={session} />
      </TabsOfScreen>
    </Screen>
  )
}
