// FetchCommand: `cipherdata fetch`.
import ArgumentParser
import ObjectContext

/// Finds objects and prints them.
struct FetchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fetch", abstract: "Find objects and print them.",
    discussion: """
      --where takes Core Data's predicate language over key paths, such as: section.name == "games" AND installedSize > 100000; \
      name BEGINSWITH[cd] "lib"; ANY tags.name == "role::program"; maintainer == nil; priority IN {"required", "important"}.
      """)

  @OptionGroup
  var store: StoreOptions

  @Option(help: "The entity whose objects are wanted, those of entities below it included.")
  var entity: String

  @OptionGroup
  var options: FetchOptions

  @Flag(help: "Print the number of results only.")
  var count = false

  @Option(help: "The form of the output.")
  var format = OutputFormat.table

  func run() async throws {
    let question = try options.question(about: entity)
    let isCount = count
    let format = format
    try await store.open(isReadOnly: true).run { context in
      if isCount {
        try question.writeCount(from: context, to: OutputSink())
      } else {
        try question.write(from: context, format: format, to: OutputSink())
      }
    }
  }
}

extension OutputFormat: ExpressibleByArgument {}
