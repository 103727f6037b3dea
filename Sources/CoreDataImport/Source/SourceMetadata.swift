package import Foundation
import SQLCipherConnection

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
