/** Insights about topics: phrases of sections, passages with a similar meaning, and searches without an answer. */
import { Stack, Text } from '@mantine/core'
import { Explained, Rows } from '../parts/figures'
import { UrlLink } from '../screens/Node'
import { texts } from '../texts'
import { None, type AboutRun } from './linkInsights'

const words = texts.insights
const MAX_PHRASES = 8

export function Topics({ figures }: AboutRun) {
  const sections = (figures.topics?.sections ?? []).filter((section) => section.phrases.length > 0)
  const phrases = (all: [string, number][]) => all.slice(0, MAX_PHRASES).map(([phrase]) => phrase)
  return (
    <Explained title={words.topics} definition={words.topicsDefinition}>
      {sections.length === 0 ? (
        <None text={words.topicsNone} />
      ) : (
        <Rows
          name={words.topics}
          headings={[words.folder, words.phrases, words.pages]}
          rows={sections.map((section) => [section.section, phrases(section.phrases).join(', '), section.pages.toLocaleString()])}
          numbers={[2]}
        />
      )}
    </Explained>
  )
}

/** Nothing where too few passages have embeddings. */
export function Clusters({ run, figures }: AboutRun) {
  const topics = figures.chunk_clusters
  if (!topics) return null
  return (
    <Explained title={words.clusters} definition={words.clustersDefinition}>
      <Stack gap="sm">
        <Rows
          name={words.clusters}
          headings={[words.topic, words.passages, words.pages, words.example]}
          rows={topics.clusters.map((cluster) => [
            cluster.label || words.mixed,
            cluster.chunks.toLocaleString(),
            cluster.pages.toLocaleString(),
            cluster.examples[0] ? <UrlLink run={run} url={cluster.examples[0]} /> : '',
          ])}
          numbers={[1, 2]}
        />
        {topics.clustered < topics.chunks && <Text size="sm">{words.sampled(topics.clustered, topics.chunks)}</Text>}
      </Stack>
    </Explained>
  )
}

/** Nothing where searches are not recorded. */
export function Unanswered({ figures }: AboutRun) {
  const log = figures.unanswered_queries
  if (!log) return null
  return (
    <Explained title={words.unanswered} definition={words.unansweredDefinition}>
      <Stack gap="sm">
        <Text size="sm">{words.searches(log.searches, log.queries)}</Text>
        {log.unanswered.length === 0 ? (
          <None text={words.unansweredNone} />
        ) : (
          <Rows
            name={words.unanswered}
            headings={[words.query, words.searched, words.withoutResults, words.weakResults]}
            rows={log.unanswered.map((each) => [
              each.query,
              each.searches.toLocaleString(),
              each.without_results.toLocaleString(),
              each.weak.toLocaleString(),
            ])}
            numbers={[1, 2, 3]}
          />
        )}
      </Stack>
    </Explained>
  )
}
