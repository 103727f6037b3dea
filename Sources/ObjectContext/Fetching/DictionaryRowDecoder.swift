import Foundation
import ObjectModel
import ObjectStore

/// Decodes a row of dictionary results, whose columns are identified by coding keys.
struct DictionaryRowDecoder: Decoder {
  fileprivate let results: DictionaryResults
  fileprivate let row: DictionaryResults.Row
  fileprivate let columns: [String: Int]
  let codingPath: [any CodingKey] = []
  let userInfo: [CodingUserInfoKey: Any] = [:]

  init(_ results: DictionaryResults, _ row: DictionaryResults.Row, _ columns: [String: Int]) {
    self.results = results
    self.row = row
    self.columns = columns
  }

  /// Decodes the row as a value. A row with one column can also be decoded as a plain value.
  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    if results.columns.count == 1, ColumnValue.isPlain(type) { return try value(of: 0, path: []).decode(type) }
    return try Value(from: self)
  }

  fileprivate func value(of column: Int, path: [any CodingKey]) throws -> ColumnValue {
    let content = results.columns[column].content
    // Only the caller determines the type of an encoded value.
    if case .attribute(let attribute) = content, attribute.type == .transformable, case .bytes(let data) = row.values[column] {
      return ColumnValue(value: data, transformable: attribute, results: results, column: column, codingPath: path)
    }
    return ColumnValue(
      value: try results.value(of: row, column), transformable: nil, results: results, column: column, codingPath: path)
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(RowContainer<Key>(decoder: self))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    throw DecodingError.typeMismatch(
      [Any].self,
      DecodingError.Context(
        codingPath: [], debugDescription: "A row of “\(results.entity.name)” has named columns: decode a type with coding keys."))
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer {
    guard results.columns.count == 1 else {
      throw DecodingError.dataCorrupted(
        DecodingError.Context(
          codingPath: [],
          debugDescription: "A row of “\(results.entity.name)” has \(results.columns.count) columns: decode a type with coding keys."))
    }
    return try value(of: 0, path: [])
  }
}

private struct RowContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let decoder: DictionaryRowDecoder
  let codingPath: [any CodingKey] = []

  var allKeys: [Key] {
    decoder.results.columns.enumerated().compactMap { decoder.row.values[$0].isNull ? nil : Key(stringValue: $1.name) }
  }

  func contains(_ key: Key) -> Bool { decoder.columns[key.stringValue].map { !decoder.row.values[$0].isNull } ?? false }

  func decodeNil(forKey key: Key) throws -> Bool { !contains(key) }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value { try value(key).decode(type) }

  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) throws -> KeyedDecodingContainer<Nested> {
    try value(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer { try value(key).unkeyedContainer() }
  func superDecoder() throws -> any Decoder { decoder }
  func superDecoder(forKey key: Key) throws -> any Decoder { try value(key) }

  private func value(_ key: Key) throws -> ColumnValue {
    guard let column = decoder.columns[key.stringValue] else {
      let names = decoder.results.columns.map(\.name).joined(separator: ", ")
      throw DecodingError.keyNotFound(
        key,
        DecodingError.Context(
          codingPath: [],
          debugDescription:
            "The dictionaries of “\(decoder.results.entity.name)” have no column “\(key.stringValue)”; they have \(names)."))
    }
    return try decoder.value(of: column, path: [key])
  }
}

private struct ColumnValue: Decoder, SingleValueDecodingContainer {
  let value: Any?
  /// The transformable attribute whose encoded bytes are the value.
  let transformable: AttributeDescription?
  let results: DictionaryResults
  let column: Int
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  /// Whether a type is stored in a single column.
  static func isPlain(_ type: any Decodable.Type) -> Bool {
    type is any AttributeValue.Type || type is any FixedWidthInteger.Type || type is any BinaryFloatingPoint.Type
  }

  func decodeNil() -> Bool { value == nil }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    guard let value else {
      throw DecodingError.valueNotFound(
        type, context("has no value here: make the property optional, or leave objects without a value out by the predicate"))
    }
    if let transformable, let data = value as? Data {
      return try AttributeTransformers.value(from: data, as: type, transformerName: transformable.valueTransformerName)
    }
    if let same = value as? Value { return same }
    if Self.isPlain(type) {
      guard let converted = converted(value, to: type) as? Value else {
        throw DecodingError.typeMismatch(type, context("holds a value of type \(Swift.type(of: value)), which is or fits no \(type)"))
      }
      return converted
    }
    // A type that decodes from a single value, such as an enumeration.
    return try Value(from: self)
  }

  /// Converts a number to another numeric type, if that type can represent it.
  private func converted(_ value: Any, to type: any Decodable.Type) -> Any? {
    if let integer = value as? any FixedWidthInteger { return number(Int64(integer), type) }
    if let real = value as? any BinaryFloatingPoint {
      if type == Decimal.self { return nil }
      return (type as? any BinaryFloatingPoint.Type).map { self.real(Double(real), $0) }
    }
    if let decimal = value as? Decimal, let type = type as? any BinaryFloatingPoint.Type {
      return real(NSDecimalNumber(decimal: decimal).doubleValue, type)
    }
    return nil
  }

  private func number(_ value: Int64, _ type: any Decodable.Type) -> Any? {
    if let type = type as? any FixedWidthInteger.Type { return exactly(value, type) }
    if let type = type as? any BinaryFloatingPoint.Type { return real(Double(value), type) }
    return type == Decimal.self ? Decimal(value) : nil
  }

  private func exactly<Number: FixedWidthInteger>(_ value: Int64, _ type: Number.Type) -> Any? { Number(exactly: value) }
  private func real<Number: BinaryFloatingPoint>(_ value: Double, _ type: Number.Type) -> Any { Number(value) }

  private func context(_ problem: String) -> DecodingError.Context {
    DecodingError.Context(
      codingPath: codingPath, debugDescription: "The column “\(results.columns[column].name)” of “\(results.entity.name)” \(problem).")
  }

  // MARK: Decoder

  func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    throw DecodingError.typeMismatch([String: Any].self, context("holds one value, not a value with keys"))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    throw DecodingError.typeMismatch([Any].self, context("holds one value, not a list"))
  }
}
