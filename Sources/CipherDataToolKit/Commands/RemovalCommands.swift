import ArgumentParser
import CipherData
import Foundation
import ObjectModel
import ObjectStore
import SQLCipherStore

/// Removes a store.
struct DestroyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "destroy",
    abstract: "Remove a store with all its files. No passphrase is needed, and nothing brings it back.",
    discussion: """
      The key file goes first, overwritten. Copies of it, and backups, are not reached. A store in use is refused. What \
      an interrupted removal has left is removed by another.
      """)

  @Argument(help: "The store's file.", completion: .file()) var store: String
  @Flag(help: "Do it; without this nothing is done.") var yes = false

  func run() async throws {
    try RemovalConfirmation.check(yes, "remove \(store) with all its files")
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: ManagedObjectModel())
    try await coordinator.destroyPersistentStore(with: PersistentStoreDescription(url: .path(store)))
  }
}

/// Replaces a store by a copy of another one.
struct ReplaceCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "replace",
    abstract: "Put a copy of one store in the place of another, as when a backup is restored.",
    discussion: """
      The passphrase is that of the store that is copied; the copy opens with it. Whatever happens, one of the two stands there whole. A store in use \
      is not replaced.

        cipherdata replace library.store backup.store --yes
      """)

  @Argument(help: "The store that is replaced; it need not exist.", completion: .file()) var store: String
  @Argument(help: "The store that is copied.", completion: .file()) var source: String
  @OptionGroup var passphrase: PassphraseOptions
  @Flag(help: "Do it, where there is a store to be replaced.") var yes = false

  func run() async throws {
    if try FilePlace.isTaken(store) { try RemovalConfirmation.check(yes, "replace \(store)") }
    let file = try await passphrase.unlock(source)
    let coordinator = try PersistentStoreCoordinator(managedObjectModel: ManagedObjectModel())
    try await coordinator.replacePersistentStore(
      with: PersistentStoreDescription(url: .path(store)),
      withPersistentStoreFrom: PersistentStoreDescription(url: file.url, key: file.key))
  }
}

/// The confirmation that removing a store requires.
enum RemovalConfirmation {
  static func check(_ isGiven: Bool, _ what: String) throws {
    if !isGiven { throw ToolError(.usage, "This would \(what). Say --yes to do it.") }
  }
}
