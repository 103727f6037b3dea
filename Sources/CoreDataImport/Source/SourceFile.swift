import Dispatch
package import Foundation
import ObjectStore
import SQLCipherConnection
import SQLCipherStore
import StoreFiles
import StoreKeys

enum SourceFile {
  /// Runs `body` with one snapshot of the file, opened read-only.
  static func read<Result>(_ path: String, key: DatabaseKey?, _ body: (Connection) throws -> Result) throws -> Result {
    try StoreError.mapping {
      let connection: Connection
      if let key {
        var options = ConnectionOptions()
        options.isReadOnly = true
        connection = try Connection(opening: path, key: key, options: options)
      } else {
        connection = try PlaintextExchange.openPlaintext(path)
      }
      defer { connection.close() }
      return try connection.readTransaction { try body(connection) }
    }
  }

  /// Returns the key that opens the file; nil for a plaintext file.
  static func databaseKey(path: String, key: StoreKey?) async throws -> DatabaseKey? {
    guard try StoreError.mapping({ try StoreFile.exists(path, operation: .import) }) else {
      throw StoreError(.noStoreHere, operation: .import, path: path)
    }
    try rejectOtherForms(path)
    guard let key else {
      do {
        return try await runInBackground { try read(path, key: nil) { _ in nil } }
      } catch let error as StoreError where error.code == .unsupportedFormat {
        throw StoreError(.encryptedOrNoStore, operation: .import, path: path)
      }
    }
    var failure: any Error = StoreError(.keyDoesNotFit, operation: .import, path: path)
    for candidate in candidates(key) {
      do {
        return try await StoreError.mapping {
          let keyring = try await StoreKeyring.unlock(storePath: path, key: candidate)
          defer { keyring.close() }
          let key = try keyring.databaseKey()
          return try await runInBackground { try read(path, key: key) { _ in key } }
        }
      } catch let error as StoreError where [.unreadableStore, .unsupportedFormat].contains(error.code) {
        failure = error
      }
    }
    throw failure
  }

  /// Returns the possible interpretations of a key. The file does not contain the page format of a passphrase.
  private static func candidates(_ key: StoreKey) -> [StoreKey] {
    guard case .passphrase(let passphrase, _) = key else { return [key] }
    var formats: [SQLCipherFormat] = [.sqlcipher3, .portable]
    if LibraryVersion.isSQLCipher4 { formats.insert(.sqlcipher4, at: 0) }
    return formats.map { .sqlcipherPassphrase(passphrase, $0) }
  }

  /// Rejects Core Data's other store types, which their first bytes identify.
  private static func rejectOtherForms(_ path: String) throws {
    guard let handle = FileHandle(forReadingAtPath: path), let head = try? handle.read(upToCount: 64) else { return }
    try? handle.close()
    let forms: [(String, CoreDataImportError.Reason.Form)] = [("<?xml", .xml), ("bplist", .binary)]
    for (mark, form) in forms where head.starts(with: Data(mark.utf8)) {
      throw CoreDataImportError(.otherForm(form), path: path)
    }
  }

  /// Runs blocking work on a dispatch queue, so that it blocks neither the caller's actor nor a thread of Swift's cooperative pool.
  static func runInBackground<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global(qos: .userInitiated).async { continuation.resume(with: Swift.Result { try body() }) }
    }
  }
}

extension StoreError.Reason {
  static var keyDoesNotFit: Self { Self(.unreadableStore, "The key does not fit the file.") }

  static var encryptedOrNoStore: Self {
    Self(.keyRequired, "The file is not a plain SQLite database: it is encrypted and no key was given, or it is not a store.")
  }
}

/// The metadata of a store: its UUID and model version identifiers. They are optional, so unreadable metadata is not an error.
struct SourceMetadata {
  private(set) var identifier: String?
  private(set) var versionIdentifiers: Set<String> = []

  init(_ connection: Connection, layout: CoreDataStore.Layout) throws {
    // The encrypted Core Data store contains a keyed archive, which is not decoded.
    guard layout == .coreData else { return }
    let statement = try connection.statement(sql: "SELECT Z_UUID, Z_PLIST FROM Z_METADATA LIMIT 1")
    defer { statement.reset() }
    guard try statement.step() else { return }
    identifier = statement.optionalText(0)
    versionIdentifiers = CoreDataStore.versionIdentifiers(inPropertyList: statement.data(1))
  }
}

extension CoreDataStore {
  /// Returns the version identifiers of a store's model; empty if there are 4 MiB or more, or the bytes are not a property list with
  /// version identifiers.
  package static func versionIdentifiers(inPropertyList bytes: Data) -> Set<String> {
    // Property lists of models are smaller. A malicious one must not be expanded.
    guard bytes.count < 4 << 20, BinaryPropertyList.isHarmless(bytes),
      let list = try? PropertyListSerialization.propertyList(from: bytes, format: nil) as? [String: Any],
      let identifiers = list["NSStoreModelVersionIdentifiers"] as? [String]
    else { return [] }
    return Set(identifiers.filter { !$0.isEmpty })
  }
}

/// Validates the object types in a binary property list before Foundation parses it. Foundation crashes on sets and on the references of
/// keyed archives, which no metadata contains.
enum BinaryPropertyList {
  private static let magic = Data("bplist".utf8)
  private static let trailerSize = 32
  /// The object types by the upper half of their first byte: null and booleans, integers, reals, dates, data, two kinds of strings, arrays,
  /// dictionaries.
  private static let known: Set<UInt8> = [0x0, 0x1, 0x2, 0x3, 0x4, 0x5, 0x6, 0xA, 0xD]

  /// Returns whether the bytes are another form of property list, or contain known object types only.
  static func isHarmless(_ list: Data) -> Bool {
    let bytes = [UInt8](list)
    guard bytes.starts(with: magic) else { return true }
    guard bytes.count >= magic.count + trailerSize else { return false }
    let trailer = bytes.count - trailerSize
    func number(_ start: Int, _ size: Int) -> UInt64 { bytes[start..<start + size].reduce(0) { $0 << 8 | UInt64($1) } }
    let offsetSize = Int(bytes[trailer + 6])
    let (count, table) = (number(trailer + 8, 8), number(trailer + 24, 8))
    guard (1...8).contains(offsetSize), table < UInt64(trailer), count <= (UInt64(trailer) - table) / UInt64(offsetSize) else {
      return false
    }
    for index in 0..<Int(count) {
      let offset = number(Int(table) + index * offsetSize, offsetSize)
      guard offset < table, known.contains(bytes[Int(offset)] >> 4) else { return false }
    }
    return true
  }
}
