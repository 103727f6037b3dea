import ArgumentParser
import CipherData
import ObjectStore

/// Assigns stable IDs to the objects of a store, or removes them.
struct StableIDsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "stable-ids", abstract: "Assign stable IDs to all objects of a store, or remove them.",
    discussion: """
      A stable ID is a UUID that an object keeps in copies, exports and imports. Existing objects receive theirs at once, new ones when \
      they are inserted. --disable removes all of them; if they are enabled again, all objects have other IDs. `info` states whether a \
      store has stable IDs.
      """)

  @OptionGroup var store: StoreOptions
  @Flag(help: "Assign stable IDs to all existing and future objects.") var enable = false
  @Flag(help: "Remove the stable IDs.") var disable = false

  func validate() throws {
    if enable == disable { throw ValidationError("Use one of --enable and --disable.") }
  }

  func run() async throws {
    let isTracked = enable
    let container = try await PersistentContainer.open(try await store.unlock(), isReadOnly: false) { description in
      description.tracksObjectIdentity = isTracked
    }
    try container.close()
    Tool.note(isTracked ? "the objects of the store have stable IDs" : "the objects of the store have no stable IDs")
  }
}
