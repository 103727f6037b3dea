// SourceMetadata: what a store says of itself: its UUID and the version of its model, out of a property list.
package import Foundation
import SQLCipherConnection

/// What a store says of itself. Nothing in it is needed, so that a list that cannot be read is no error.
struct SourceMetadata {
  private(set) var identifier: String?
  private(set) var versionIdentifiers: Set<String> = []

  init(_ connection: Connection, layout: CoreDataStore.Layout) throws {
    // The encrypted store keeps a keyed archive, which is left alone.
    guard layout == .coreData else { return }
    let statement = try connection.statement(sql: "SELECT Z_UUID, Z_PLIST FROM Z_METADATA LIMIT 1")
    defer { statement.reset() }
    guard try statement.step() else { return }
    identifier = statement.optionalText(0)
    versionIdentifiers = CoreDataStore.versionIdentifiers(inPropertyList: statement.data(1))
  }
}

extension CoreDataStore {
  /// The version identifiers of a store's model; none where there are 4 MiB of bytes or more, or the bytes are no property list that has some.
  package static func versionIdentifiers(inPropertyList bytes: Data) -> Set<String> {
    // No property list of a model is larger; a hostile one must not be unfolded.
    guard bytes.count < 4 << 20, BinaryPropertyList.isHarmless(bytes),
      let list = try? PropertyListSerialization.propertyList(from: bytes, format: nil) as? [String: Any],
      let identifiers = list["NSStoreModelVersionIdentifiers"] as? [String]
    else { return [] }
    return Set(identifiers.filter { !$0.isEmpty })
  }
}
