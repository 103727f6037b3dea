import Foundation
@_spi(Generated) import ObjectModel

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
