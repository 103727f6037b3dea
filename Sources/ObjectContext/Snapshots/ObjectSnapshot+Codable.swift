// The encoded form is documented in <doc:Snapshots>.

import Foundation
@_spi(Generated) import ObjectModel
import ObjectStore

extension ObjectSnapshot: Codable {
  /// The version of the encoded form; the only one that can be decoded.
  private static let format = 1

  private enum Key: String, CodingKey {
    case format, entity, layout, id, version, values, changes, members
    case changedMembers = "memberChanges"
  }

  struct Name: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(_ name: String) { stringValue = name }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  private var layout: String { String(entity.layoutFingerprint, radix: 16) }

  // MARK: Encoding

  /// Encodes the snapshot: its original values, and separately the values that were set. Large values are read and encoded in full.
  ///
  /// - Throws: `EncodingError` if a relationship refers to an unsaved object, whose ID is meaningless elsewhere; ``StoreError`` if a value
  ///   cannot be read; ``KeyValueError`` if a setter failed.
  public func encode(to encoder: any Encoder) throws {
    if let failure = failures.first { throw failure }
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(Self.format, forKey: .format)
    try container.encode(entityName, forKey: .entity)
    try container.encode(layout, forKey: .layout)
    try container.encodeIfPresent(objectID, forKey: .id)
    if version != 0 { try container.encode(version, forKey: .version) }
    var values = container.nestedContainer(keyedBy: Name.self, forKey: .values)
    var original = self
    original.changes = [:]
    for slot in entity.slots where slot.kind != .none && original.hasValue(slot.index) { try original.encode(slot, to: &values) }
    if !changes.isEmpty {
      var values = container.nestedContainer(keyedBy: Name.self, forKey: .changes)
      for slot in entity.slots where changes[slot.index] != nil { try encode(slot, to: &values) }
    }
    if !members.isEmpty { try container.encode(named(members), forKey: .members) }
    if !changedMembers.isEmpty { try container.encode(named(changedMembers), forKey: .changedMembers) }
  }

  private func named(_ members: [Int: [ManagedObjectID]]) -> [String: [ManagedObjectID]] {
    Dictionary(uniqueKeysWithValues: members.map { (entity.toManyRelationships[$0].name, $1) })
  }

  private func encode(_ slot: CompiledSlot, to values: inout KeyedEncodingContainer<Name>) throws {
    let name = Name(slot.name)
    if slot.kind == .reference { return try values.encode(destination(slot.index), forKey: name) }
    try SnapshotCoding.encode(stored(slot.index), slot.attributeType, to: &values, name)
  }

  // MARK: Decoding

  /// Decodes a snapshot. For a saved object, its store must be, or have been, open in this process. For a new object, a coordinator with
  /// its model must have been created.
  ///
  /// - Throws: `DecodingError` with the coding path of the mistake, also for a snapshot of another model.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    guard try container.decode(Int.self, forKey: .format) == Self.format else {
      throw Self.wrong(container, .format, "This version of the library reads snapshots of the format \(Self.format).")
    }
    let name = try container.decode(String.self, forKey: .entity)
    let layout = try container.decode(String.self, forKey: .layout)
    guard let location = try Self.location(name, layout, container) else {
      throw Self.wrong(container, .layout, "The snapshot is of another version of “\(name)” than the models that were opened have.")
    }
    var (entity, space) = (location.entity, location.space)
    let values = try container.nestedContainer(keyedBy: Name.self, forKey: .values)
    let read = try Self.decode(values, of: entity)
    // A new object is in no store yet; it belongs to the store of the objects that it refers to.
    if location.key == 0, let other = read.lazy.compactMap(\.value.objectID).first.flatMap({ ObjectIDSpace.space($0.space) }),
      let own = other.model.entity(named: name), own.layoutFingerprint == entity.layoutFingerprint
    {
      (entity, space) = (own, other.number)
    }
    let version = try container.decodeIfPresent(Int64.self, forKey: .version) ?? 0
    let writer = RowWriter(rowCapacity: 1)
    writer.beginRow(entityNumber: entity.number, slotCount: entity.slots.count, key: location.key, version: version)
    for (slot, value) in read {
      switch value {
      case .slot(let stored): writer.set(stored, at: slot.index)
      case .object(let id) where id.space == space: writer.setReference(id.reference, at: slot.index)
      default:
        throw DecodingError.dataCorruptedError(forKey: Name(slot.name), in: values, debugDescription: "This is an object of another store.")
      }
    }
    self.init(writer.endRow(), of: entity, space: space)
    if container.contains(.changes) {
      let values = try container.nestedContainer(keyedBy: Name.self, forKey: .changes)
      for (slot, value) in try Self.decode(values, of: entity) {
        if slot.isDerived {
          throw DecodingError.dataCorruptedError(forKey: Name(slot.name), in: values, debugDescription: "A derived attribute is not set.")
        }
        changes[slot.index] = value
      }
    }
    members = try Self.members(container, .members, of: entity)
    changedMembers = try Self.members(container, .changedMembers, of: entity)
  }

  private static func wrong(_ container: KeyedDecodingContainer<Key>, _ key: Key, _ text: String) -> DecodingError {
    DecodingError.dataCorruptedError(forKey: key, in: container, debugDescription: text)
  }

  /// Returns the entity with a name and layout, the number of the object's space, and its key (0 for a new object). Nil if no known model
  /// has such an entity.
  private static func location(
    _ name: String, _ layout: String, _ container: KeyedDecodingContainer<Key>
  ) throws -> (entity: CompiledEntity, space: UInt32, key: Int64)? {
    let uri = try container.decodeIfPresent(String.self, forKey: .id)
    let url = uri.flatMap { URL(string: $0) }
    if uri != nil, url == nil { throw wrong(container, .id, "This is no URI.") }
    var (number, isKnown) = (UInt32(0), url == nil)
    while let space = ObjectIDSpace.space(number) {
      number += 1
      guard let entity = space.model.entity(named: name) else { continue }
      let id = url.flatMap { space.objectID(forURI: $0) }
      if url != nil {
        guard let id, !id.isTemporaryID, Int(id.entityNumber) == entity.number else { continue }
        isKnown = true
      }
      if String(entity.layoutFingerprint, radix: 16) == layout { return (entity, space.number, id?.key ?? 0) }
    }
    if !isKnown { throw wrong(container, .id, "This is no URI of such an object in a store that was opened.") }
    return nil
  }

  private static func decode(
    _ values: KeyedDecodingContainer<Name>, of entity: CompiledEntity
  ) throws -> [(slot: CompiledSlot, value: SnapshotValue)] {
    try values.allKeys.map { name in
      guard let slot = entity.slot(named: name.stringValue), slot.kind != .none else {
        throw DecodingError.dataCorruptedError(
          forKey: name, in: values, debugDescription: "“\(entity.name)” has no such attribute or to-one relationship.")
      }
      if try values.decodeNil(forKey: name) { return (slot, .slot(.null)) }
      if slot.kind == .reference { return (slot, .object(try values.decode(ManagedObjectID.self, forKey: name))) }
      return (slot, .slot(try SnapshotCoding.decode(slot, from: values, name)))
    }
  }

  private static func members(
    _ container: KeyedDecodingContainer<Key>, _ key: Key, of entity: CompiledEntity
  ) throws -> [Int: [ManagedObjectID]] {
    var result: [Int: [ManagedObjectID]] = [:]
    for (name, ids) in try container.decodeIfPresent([String: [ManagedObjectID]].self, forKey: key) ?? [:] {
      guard case .toMany(let relationship) = entity.property(named: name), !relationship.isTransient else {
        throw wrong(container, key, "“\(entity.name)” has no to-many relationship “\(name)”.")
      }
      result[relationship.index] = ordered(ids, of: relationship)
    }
    return result
  }
}

/// Encodes and decodes attribute values: numbers and booleans as such, dates as seconds since 2001-01-01 UTC, UUIDs, URIs and decimals as
/// strings, bytes as Base64, and non-finite numbers (`nan`, `inf`, `-inf`), which JSON lacks, as strings. Independent of the coder's
/// strategies.
enum SnapshotCoding {
  typealias Name = ObjectSnapshot.Name

  static func encode(_ value: Slot, _ type: AttributeType?, to values: inout KeyedEncodingContainer<Name>, _ name: Name) throws {
    switch value {
    case .null: try values.encodeNil(forKey: name)
    case .int(let number) where type?.traits.resolvedType == .boolean: try values.encode(number != 0, forKey: name)
    case .int(let number): try values.encode(number, forKey: name)
    case .real(let number) where number.isFinite: try values.encode(number, forKey: name)
    case .real(let number): try values.encode("\(number)", forKey: name)
    case .text(let text): try values.encode(text, forKey: name)
    case .bytes(let bytes):
      let text: String? =
        switch type?.traits.resolvedType {
        case .uuid: UUID(slot: value)?.uuidString
        case .decimal: Decimal(slot: value).map { "\($0)" }
        default: nil
        }
      try values.encode(text ?? bytes.base64EncodedString(), forKey: name)
    }
  }

  /// Decodes the value of an attribute that is not null.
  ///
  /// - Throws: `DecodingError` for a value that does not match the attribute's type.
  static func decode(_ slot: CompiledSlot, from values: KeyedDecodingContainer<Name>, _ name: Name) throws -> Slot {
    let type = slot.attributeType
    switch slot.kind {
    case .int:
      if type?.traits.resolvedType == .boolean { return .int(try values.decode(Bool.self, forKey: name) ? 1 : 0) }
      let value = Slot.int(try values.decode(Int64.self, forKey: name))
      if let type, AttributeChecker.typeFailure(of: value, type: type) != nil { throw wrong(slot, values, name) }
      return value
    case .real:
      if let number = try? values.decode(Double.self, forKey: name) { return .real(number) }
      guard let number = Double(try values.decode(String.self, forKey: name)), !number.isFinite else { throw wrong(slot, values, name) }
      return .real(number)
    case .text: return .text(try values.decode(String.self, forKey: name))
    case .bytes:
      let text = try values.decode(String.self, forKey: name)
      let value: Slot? =
        switch type?.traits.resolvedType {
        case .uuid: UUID(uuidString: text)?.slot
        case .decimal: Decimal(string: text, locale: Locale(identifier: "en_US_POSIX"))?.slot
        default: Data(base64Encoded: text).map(Slot.bytes)
        }
      guard let value else { throw wrong(slot, values, name) }
      return value
    case .reference, .none: throw wrong(slot, values, name)
    }
  }

  private static func wrong(_ slot: CompiledSlot, _ values: KeyedDecodingContainer<Name>, _ name: Name) -> DecodingError {
    DecodingError.dataCorruptedError(
      forKey: name, in: values, debugDescription: "This is no value of the type “\(slot.attributeType?.rawValue ?? "relationship")”.")
  }
}
