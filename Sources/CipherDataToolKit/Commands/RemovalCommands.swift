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
    abstract: "Remove a store with all its files. Needs no passphrase, and cannot be undone.",
    discussion: """
      The key file is overwritten and removed first. Copies of it and backups are not affected. A store in use is rejected. Run the \
      command again to complete an interrupted removal.
      """)

  @Argument(help: "The store's file.", completion: .file()) var store: String
  @Flag(help: "Confirm the removal, which is required.") var yes = false

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
    abstract: "Replace a store with a copy of another one, for example to restore a backup.",
    discussion: """
      The passphrase is that of the copied store, and also opens the copy. The replacement is atomic. A store in use is not replaced.

        cipherdata replace library.store backup.store --yes
      """)

  @Argument(help: "The store to replace; it need not exist.", completion: .file()) var store: String
  @Argument(help: "The store to copy.", completion: .file()) var source: String
  @OptionGroup var passphrase: PassphraseOptions
  @Flag(help: "Confirm the replacement of an existing store.") var yes = false

  func run() async throws {
    if try PathCheck.isTaken(store) { try RemovalConfirmation.check(yes, "replace \(store)") }
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
    if !isGiven { throw ToolError(.usage, "This would \(what). Confirm it with --yes.") }
  }
}
