import ArgumentParser

/// Demonstrates the library with the machine's own package database.
struct DemoCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo",
    abstract: "Import this machine's package database into an encrypted store, run queries, and delete the store.")

  @Option(help: ArgumentHelp("A package database or index to use instead of /var/lib/dpkg/status.", valueName: "file"))
  var input: String?

  @Flag(help: "Use the built-in sample of a dozen packages.")
  var sample = false

  func run() async throws {
    if let input { try ByteSource.check(path: input) }
    let input = sample ? nil : input ?? Demonstration.machineDatabase
    try await Demonstration(input: input, to: OutputSink()).run()
  }
}
