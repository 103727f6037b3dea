// FetchCommand: `cipherdata fetch`.
import ArgumentParser
import ObjectContext

/// Finds objects and prints them.
struct FetchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fetch", abstract: "Find objects and print them.",
    discussion: """
      --where takes Core Data's predicate language over key paths, such as: section.name == "games" AND installedSize > 100000; \
      name BEGINSWITH[cd] "lib"; ANY tags.name == "role::program"; maintainer == nil; priority IN {"required", "important"}; \
      summary SEARCH "text adv* -game" (words, beginnings, what is to be missing, "\"phrases\"", OR), with --sort relevance the best first; \
      SUBQUERY(relations, $r, $r.entity == "Dependency" AND ANY $r.alternatives.packageName LIKE "libgtk*").@count == 0.

      --select computes columns, of each object or, with --group-by or a function over many objects, of groups: count, sum, min, max, average \
      and median, such as: --select "maintainer.name, count(name) AS n" --group-by maintainer.name --having "n > 200" --sort "n desc".
      """)

  @OptionGroup
  var store: StoreOptions

  @Option(help: "The entity whose objects are wanted, those of entities below it included.")
  var entity: String

  @OptionGroup
  var options: FetchOptions

  @Flag(help: "Print the number of results only.")
  var count = false

  @Flag(help: "Print how the question would be answered, and not the answer: statements, plan, indexes, and what would be slow.")
  var explain = false

  @Option(help: "The form of the output.")
  var format = OutputFormat.table

  func run() async throws {
    let early = try options.earlyQuestion(about: entity)
    let (isCount, isExplained) = (count, explain)
    let (options, entity, format) = (options, entity, format)
    try await store.open(isReadOnly: true).run { context in
      let question = try early ?? options.question(about: entity)
      if isExplained {
        try question.writeExplanation(from: context, to: OutputSink())
      } else if isCount {
        try question.writeCount(from: context, to: OutputSink())
      } else {
        try question.write(from: context, format: format, to: OutputSink())
      }
    }
  }
}

extension OutputFormat: ExpressibleByArgument {}
