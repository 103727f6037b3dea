import ArgumentParser

/// Synchronizes a store with the other devices of its user.
struct SyncCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sync", abstract: "Synchronize the stores of one user's devices through a hub.",
    discussion: """
      A hub is a file that all devices open. It stores only what the devices have encrypted: no names, no values, no relationships. `start` \
      creates the hub, an account and its recovery key, `join` adds a store of the same model by that key or with the approval of another \
      device (`approve`), and `run` sends and receives what has changed. Saves do not wait for the hub: what is saved while it is away is sent later.

      Uniqueness constraints over computed values, or over attributes with a merge rule, are not synchronized yet: `start` and `join` refuse a \
      model that has them, and list them. `cipherdata model lint --sync` says how each property of a model is merged.
      """,
    subcommands: [
      Start.self, Join.self, Approve.self, Run.self, Status.self, Pending.self, Conflicts.self, Journal.self, Restore.self, Verify.self,
      Reconcile.self, RequireModel.self, Leave.self,
    ])

  static func checkHub(_ path: String) throws {
    if path.isEmpty { throw ValidationError("--hub takes the path of a file.") }
  }
}

/// The name by which other devices show this one.
struct DeviceOptions: ParsableArguments {
  @Option(help: "The name by which other devices show this one, by default that of the host. A number is added if it is taken.")
  var device: String?

  func validate() throws {
    if device?.isEmpty ?? false { throw ValidationError("--device takes a name.") }
  }
}
