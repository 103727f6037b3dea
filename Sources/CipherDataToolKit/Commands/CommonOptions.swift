// CommonOptions: what several commands take: the passphrase, and the ways to a store.
import ArgumentParser
import Foundation
import ObjectContext
import ObjectModel
import ObjectStore
import CipherData
import SQLCipherStore

/// Where the passphrase comes from.
struct PassphraseOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Read the passphrase from the first line of a file.", valueName: "file"), completion: .file())
  var passphraseFile: String?

  @Option(
    help: ArgumentHelp(
      "The work that may be spent on the key file, in derivations of the standard cost (scrypt, N = 2^17); 16 of up to 256 MiB unless said otherwise. Raise it only for a file that you trust.",
      valueName: "number"))
  var keyWork: Int?

  func validate() throws {
    if let keyWork, keyWork < 1 { throw ValidationError("--key-work takes a number from 1.") }
  }

  /// The passphrase of an existing store; a recovery key is taken too.
  func key(for path: String) throws -> StoreKey {
    .passphrase(try PassphraseSource(file: passphraseFile, prompt: "Passphrase for \(path): ").read())
  }

  /// Unlocks a store's file. What is wrong with the file is said before a passphrase is asked for.
  func unlock(_ path: String) async throws -> SQLCipherStoreFile {
    try await Self.check(path)
    return try await SQLCipherStoreFile.unlock(at: .path(path), key: try key(for: path), keyWorkLimit: keyWork)
  }

  /// Says what is wrong with a store's file without its key.
  static func check(_ path: String) async throws {
    do {
      _ = try await SQLCipherStoreFile.unlock(at: .path(path), key: nil)
    } catch let error as StoreError where error.code == .keyRequired {
      return
    }
  }

  /// The passphrase of a new store.
  func newKey(for path: String) throws -> StoreKey {
    .passphrase(try PassphraseSource(file: passphraseFile, prompt: "New passphrase for \(path): ", asksTwice: true).read())
  }
}

/// Whether warnings of a model are errors.
struct StrictOption: ParsableArguments {
  @Flag(
    help: """
      Refuse a model with a warning of “cipherdata model lint”: words that mean nothing or cannot be used, missing types or missing inverses. Otherwise \
      the warnings are printed with what is used instead.
      """)
  var strict = false
}

/// Where a new passphrase comes from, beside the present one.
struct NewPassphraseOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Read the new passphrase from the first line of a file; else CIPHERDATA_NEW_PASSPHRASE or a prompt.", valueName: "file"),
    completion: .file())
  var newPassphraseFile: String?

  /// The new passphrase.
  func key() throws -> StoreKey {
    .passphrase(
      try PassphraseSource(
        file: newPassphraseFile, variable: "CIPHERDATA_NEW_PASSPHRASE", prompt: "New passphrase: ", asksTwice: true
      ).read())
  }
}

/// An existing store and its passphrase.
struct StoreOptions: ParsableArguments {
  @Argument(help: "The store's file.", completion: .file())
  var store: String

  @OptionGroup
  var passphrase: PassphraseOptions

  /// Unlocks the store's file.
  func unlock() async throws -> SQLCipherStoreFile { try await passphrase.unlock(store) }

  /// Opens the store with the model that is inside it.
  ///
  /// - Parameter observer: Hears of the statements.
  func open(isReadOnly: Bool, observer: SQLObserver? = nil) async throws -> PersistentContainer {
    try await PersistentContainer.open(try await unlock(), isReadOnly: isReadOnly, observer: observer)
  }
}

extension PersistentContainer {
  /// Opens an unlocked store with the model that is inside it.
  ///
  /// - Parameters:
  ///   - observer: Hears of the statements.
  ///   - configure: Changes what the store is opened with.
  static func open(
    _ file: SQLCipherStoreFile, isReadOnly: Bool, observer: SQLObserver? = nil,
    _ configure: (inout PersistentStoreDescription) -> Void = { _ in }
  ) async throws -> PersistentContainer {
    var description = PersistentStoreDescription(url: file.url, key: file.key)
    description.createsStore = false
    description.isReadOnly = isReadOnly
    description.sqlObserver = observer
    configure(&description)
    return try await file.withStoredModel { model in
      let container = try PersistentContainer(
        name: file.url.lastPathComponent, managedObjectModel: model, persistentStoreDescriptions: [description])
      try await container.loadPersistentStores()
      return container
    }
  }

  /// Runs work with a context of its own, and closes the stores afterwards.
  func run<Result: Sendable>(_ body: @escaping @Sendable (ManagedObjectContext) throws -> Result) async throws -> Result {
    try await closing { try await performBackgroundTask(body) }
  }

  /// Runs work, and closes the stores afterwards.
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

/// A progress bar that work on another thread may move.
final class SharedProgress: Sendable {
  private let title: String
  // Only one thread at a time works on a file and tells of it; the bar itself is never touched by two.
  private nonisolated(unsafe) let bar: ProgressBar

  init(_ title: String) {
    self.title = title
    bar = ProgressBar(title, total: 1000)
  }

  /// What long work on a store's file tells.
  var handler: SQLCipherStoreFile.Progress {
    { done, total in
      self.show(total == 0 ? 0 : Double(done) / Double(total))
      return true
    }
  }

  /// Shows a fraction of the whole work.
  func show(_ fraction: Double) { bar.update(Int(fraction * 1000)) }

  func finish() { bar.finish() }
}

extension URL {
  /// The URL of a path as it was given on the command line.
  static func path(_ path: String) -> URL { URL(fileURLWithPath: path) }
}

/// Who changes a store, for its history.
struct AuthorOptions: ParsableArguments {
  @Option(help: "The author that the store's history has for the changes, where it keeps one.")
  var author: String?
}
