import ArgumentParser
import SyncEngine

extension SyncCommand {
  /// `sync require-model`.
  struct RequireModel: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "require-model", abstract: "Require a version of the model of all devices of the account.",
      discussion: """
        The version of a model is the greatest of its version identifiers that consists of numbers, such as 2 or 2.1. Devices whose model has \
        an earlier one, or none, do not send or import anything until they are updated. They can be used as before, and what they save is \
        sent then. The requirement is sent by the next round (`sync run`). `sync status` prints it.
        """)

    @OptionGroup var store: StoreOptions
    @Option(help: ArgumentHelp("The version, by default that of the store's model, which cannot be exceeded.", valueName: "version"))
    var version: String?

    func validate() throws {
      if let version, ModelVersion(version) == nil { throw ValidationError("--version takes numbers with dots between them, such as 2.1.") }
    }

    func run() async throws {
      let synced = try await SyncedContainer(try await store.unlock())
      let version = version.flatMap { ModelVersion($0) }
      let required = try await synced.run { try synced.requireModelVersion(version) }
      Tool.note("version \(required) of the model is required")
    }
  }
}
