import ArgumentParser
import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import CipherData
import SQLCipherStore
import SyncEngine

/// The source of the passphrase.
struct PassphraseOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Read the passphrase from the first line of a file.", valueName: "file"), completion: .file())
  var passphraseFile: String?

  @Option(
    help: ArgumentHelp(
      "The limit of key derivation work for the key file, in derivations of the standard cost (scrypt, N = 2^17). The default is 16, with up to 256 MiB each. Raise it only for a file that you trust.",
      valueName: "number"))
  var keyWork: Int?

  func validate() throws {
    if let keyWork, keyWork < 1 { throw ValidationError("--key-work must be 1 or more.") }
  }

  /// Returns the passphrase or the recovery key of an existing store.
  func key(for path: String) throws -> StoreKey {
    .passphrase(try PassphraseSource(file: passphraseFile, prompt: "Passphrase for \(path): ").read())
  }

  /// Unlocks a store's file. Errors in the file are reported before the passphrase is requested.
  func unlock(_ path: String) async throws -> SQLCipherStoreFile {
    try await Self.check(path)
    do {
      return try await SQLCipherStoreFile.unlock(at: .path(path), key: try key(for: path), keyWorkLimit: keyWork)
    } catch let error as StoreError where error.code == .wrongKey && FileManager.default.fileExists(atPath: path + ".key") {
      throw ToolError(
        .noKey,
        "The passphrase does not open \(path). If this is a hub, which \(path).key opens, name a store that is synchronized through it; "
          + "otherwise check the passphrase.")
    }
  }

  /// Checks a store's file without its key.
  static func check(_ path: String) async throws {
    do {
      _ = try await SQLCipherStoreFile.unlock(at: .path(path), key: nil)
    } catch let error as StoreError where error.code == .keyRequired {
      return
    }
  }

  /// Returns the passphrase of a new store.
  func newKey(for path: String) throws -> StoreKey {
    .passphrase(try PassphraseSource(file: passphraseFile, prompt: "New passphrase for \(path): ", confirms: true).read())
  }
}

/// Whether warnings of a model are errors.
struct StrictOption: ParsableArguments {
  @Flag(
    help: """
      Reject a model with a warning of “cipherdata model lint”: unknown or unusable words, missing types or missing inverses. Otherwise the \
      warnings are printed with the values that are used instead.
      """)
  var strict = false
}

/// The source of a new passphrase, in addition to that of the current one.
struct NewPassphraseOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Read the new passphrase from the first line of a file; else CIPHERDATA_NEW_PASSPHRASE or a prompt.", valueName: "file"),
    completion: .file())
  var newPassphraseFile: String?

  func key() throws -> StoreKey {
    .passphrase(
      try PassphraseSource(
        file: newPassphraseFile, variable: "CIPHERDATA_NEW_PASSPHRASE", prompt: "New passphrase: ", confirms: true
      ).read())
  }
}

/// An existing store and its passphrase.
struct StoreOptions: ParsableArguments {
  @Argument(help: "The store's file.", completion: .file())
  var store: String

  @OptionGroup
  var passphrase: PassphraseOptions

  func unlock() async throws -> SQLCipherStoreFile { try await passphrase.unlock(store) }

  /// Opens the store with the model that is stored in it.
  ///
  /// - Parameter observer: An observer that receives the SQL statements.
  func open(isReadOnly: Bool, observer: SQLObserver? = nil) async throws -> PersistentContainer {
    try await PersistentContainer.open(try await unlock(), isReadOnly: isReadOnly, observer: observer)
  }
}

extension PersistentContainer {
  /// Opens an unlocked store with the model that is stored in it.
  ///
  /// - Parameters:
  ///   - observer: An observer that receives the SQL statements.
  ///   - configure: Modifies the store's description before the store is opened.
  static func open(
    _ file: SQLCipherStoreFile, isReadOnly: Bool, observer: SQLObserver? = nil,
    _ configure: (inout PersistentStoreDescription) -> Void = { _ in }
  ) async throws -> PersistentContainer {
    var description = PersistentStoreDescription(url: file.url, key: file.key)
    description.createsStore = false
    description.isReadOnly = isReadOnly
    description.sqlObserver = observer
    // Synchronization refuses what it cannot cope with, such as removing stable IDs.
    description.sideTableOwners = [SyncTables.shared]
    configure(&description)
    return try await file.withStoredModel { model in
      let container = try PersistentContainer(
        name: file.url.lastPathComponent, managedObjectModel: model, persistentStoreDescriptions: [description])
      try await container.loadPersistentStores()
      return container
    }
  }

  /// Runs a closure with a new context, and closes the stores afterwards.
  func run<Result: Sendable>(_ body: @escaping @Sendable (ManagedObjectContext) throws -> Result) async throws -> Result {
    try await closing { try await performBackgroundTask(body) }
  }

  /// Runs a closure, and closes the stores afterwards.
  func closing<Result>(_ body: () async throws -> Result) async throws -> Result {
    do {
      let result = try await body()
      try close()
      return result
    } catch {
      try? close()
      throw error
    }
  }
}

/// A progress bar that can be updated from another thread.
final class SharedProgress: Sendable {
  private let title: String
  // Only one thread at a time works on a file and reports progress, so that the bar is never accessed concurrently.
  private nonisolated(unsafe) let bar: ProgressBar

  init(_ title: String) {
    self.title = title
    bar = ProgressBar(title, total: 1000)
  }

  /// A handler for the progress of long operations on a store's file.
  var handler: SQLCipherStoreFile.Progress {
    { done, total in
      self.show(total == 0 ? 0 : Double(done) / Double(total))
      return true
    }
  }

  /// Shows the completed fraction of the whole operation.
  func show(_ fraction: Double) { bar.update(Int(fraction * 1000)) }

  func finish() { bar.finish() }
}

extension URL {
  static func path(_ path: String) -> URL { URL(fileURLWithPath: path) }
}

/// The author that the store's history records for changes.
struct AuthorOptions: ParsableArguments {
  @Option(help: "The author that the store's history records for the changes.")
  var author: String?
}
