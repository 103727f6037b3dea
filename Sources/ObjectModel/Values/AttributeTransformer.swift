public import Foundation
import Synchronization

/// A conversion between values of a `transformable` attribute and bytes.
///
/// ```swift
/// struct Reversed: AttributeTransformer {
///   func data(from value: String) throws -> Data { Data(value.utf8.reversed()) }
///   func value(from data: Data) throws -> String { String(decoding: data.reversed(), as: UTF8.self) }
/// }
/// AttributeTransformers.register(Reversed(), forName: "Reversed")
/// let note = Attribute("note", transforming: String.self, by: "Reversed")
/// ```
///
/// Register a transformer under a name before a store is opened, and assign the name to the attribute. Contexts call the transformer on
/// their own threads, possibly several at once, each time a value is read from a row or set, so it should be fast. An error thrown by the
/// transformer becomes an ``AttributeTransformError``. (Core Data's counterpart is Foundation's `ValueTransformer`, which is neither typed
/// nor safe to share between threads.)
public protocol AttributeTransformer<Value>: Sendable {
  /// The type of the values.
  associatedtype Value: Sendable
  /// Returns the bytes of a value. Equal values should have equal bytes, so that unchanged values are not saved.
  ///
  /// - Throws: An error if the value cannot be converted. The change is rejected with ``AttributeTransformError/failed(_:)``.
  func data(from value: Value) throws -> Data
  /// Returns the value of bytes that ``data(from:)`` returned.
  ///
  /// - Throws: An error if the bytes cannot be converted. The read throws ``AttributeTransformError/failed(_:)``.
  func value(from data: Data) throws -> Value
}

/// A failure to convert a transformable attribute's value. Never contains the value.
public enum AttributeTransformError: Error, Sendable, Hashable, CustomStringConvertible {
  /// No transformer is registered under the name.
  case unknownTransformer(String)
  /// The transformer, or the default coding, does not support values of the type.
  case wrongType(String)
  /// The transformer or the default coding threw an error of the given type. The error itself is omitted, since it may contain the value.
  case failed(String)

  /// A message that says what is wrong and what to do.
  public var description: String { description(\.text) }

  package func description(_ words: (Remedy) -> String) -> String {
    switch self {
    case .unknownTransformer(let name): "no transformer is registered as '\(name)'. \(words(.registerTransformer))"
    case .wrongType(let type): "the attribute's transformer does not take values of the type \(type)"
    case .failed(let type): "the attribute's transformer failed with \(type)"
    }
  }
}

/// The process-wide registry of transformers by name. Safe to use from any thread.
///
/// An attribute without a transformer name stores any `Codable` value as JSON with sorted keys. So does an attribute with the name of
/// Foundation's secure-unarchiving transformer, the default in Core Data's model files, unless a transformer is registered under that name.
public enum AttributeTransformers {
  private static let registry = Mutex<[String: any AttributeTransformer]>([:])

  /// Registers a transformer under a name, replacing an earlier one.
  public static func register(_ transformer: any AttributeTransformer, forName name: String) {
    registry.withLock { $0[name] = transformer }
  }

  /// Removes the transformer of a name.
  ///
  /// Values that were already read stay unchanged. If the model of an open store uses the name, the attribute throws
  /// ``AttributeTransformError/unknownTransformer(_:)`` until another transformer is registered; attributes with the name of Foundation's
  /// transformer use the default coding.
  ///
  /// - Returns: The removed transformer; nil if none was registered.
  @discardableResult
  public static func unregister(forName name: String) -> (any AttributeTransformer)? {
    registry.withLock { $0.removeValue(forKey: name) }
  }

  /// Returns the transformer with a name; nil if there is none.
  public static func transformer(forName name: String) -> (any AttributeTransformer)? {
    registry.withLock { $0[name] }
  }

  /// Returns whether a transformer name is usable: it is registered, empty, or a name of the default coding.
  package static func isAvailable(_ name: String) -> Bool {
    name.isEmpty || defaultNames.contains(name) || transformer(forName: name) != nil
  }

  /// Returns whether an attribute with a transformer name stores `Codable` values of any type as JSON.
  static func isForCodableValues(_ name: String) -> Bool {
    name.isEmpty || defaultNames.contains(name) && transformer(forName: name) == nil
  }

  /// The names of Foundation's secure-unarchiving transformer. The third is the name of its constant, which some models contain by mistake.
  private static let defaultNames: Set<String> = [
    "NSSecureUnarchiveFromData", "NSSecureUnarchiveFromDataTransformer", "NSSecureUnarchiveFromDataTransformerName",
  ]

  /// Returns the bytes of a value.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - name: The attribute's ``AttributeDescription/valueTransformerName``.
  /// - Throws: ``AttributeTransformError``.
  package static func data(from value: Any, transformerName name: String?) throws(AttributeTransformError) -> Data {
    if let transformer = try named(name) { return try encode(value, with: transformer) }
    guard let value = value as? any Encodable else { throw .wrongType("\(type(of: value))") }
    do { return try JSONAttributeCoding.data(from: value) } catch { throw .failed("\(type(of: error))") }
  }

  /// Returns the value of bytes.
  ///
  /// - Parameters:
  ///   - data: The bytes.
  ///   - type: The type of the value.
  ///   - name: The attribute's ``AttributeDescription/valueTransformerName``.
  /// - Throws: ``AttributeTransformError``.
  package static func value<Value>(
    from data: Data, as type: Value.Type, transformerName name: String?
  ) throws(AttributeTransformError) -> Value {
    let value: any Sendable
    if let transformer = try named(name) {
      do { value = try transformer.value(from: data) } catch { throw .failed("\(Swift.type(of: error))") }
    } else {
      guard let decodable = type as? any (Decodable & Sendable).Type else { throw .wrongType("\(type)") }
      do { value = try JSONAttributeCoding.value(from: data, as: decodable) } catch { throw .failed("\(Swift.type(of: error))") }
    }
    guard let result = value as? Value else { throw .wrongType("\(type)") }
    return result
  }

  /// Returns the value of bytes from a named transformer, of any type.
  ///
  /// - Throws: ``AttributeTransformError``. Without a transformer the type must be known; see ``value(from:as:transformerName:)``.
  package static func value(from data: Data, transformerName name: String?) throws(AttributeTransformError) -> any Sendable {
    guard let transformer = try named(name) else { throw .wrongType("unknown") }
    do { return try transformer.value(from: data) } catch { throw .failed("\(type(of: error))") }
  }

  private static func named(_ name: String?) throws(AttributeTransformError) -> (any AttributeTransformer)? {
    guard let name, !name.isEmpty else { return nil }
    if let transformer = transformer(forName: name) { return transformer }
    if defaultNames.contains(name) { return nil }
    throw .unknownTransformer(name)
  }

  private static func encode<Transformer: AttributeTransformer>(
    _ value: Any, with transformer: Transformer
  ) throws(AttributeTransformError) -> Data {
    guard let value = value as? Transformer.Value else { throw .wrongType("\(type(of: value))") }
    do { return try transformer.data(from: value) } catch { throw .failed("\(type(of: error))") }
  }
}

/// The coding of transformable attributes without a transformer: JSON with sorted keys, so that equal values have equal bytes.
public enum JSONAttributeCoding {
  /// Returns the JSON of a value. Infinite numbers and NaN are encoded as strings. The elements of a set are in the order of their JSON;
  /// those of sets in other values are in any order.
  ///
  /// - Throws: Errors of the value's `encode(to:)`.
  public static func data<Value: Encodable>(from value: Value) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.nonConformingFloatEncodingStrategy = .convertToString(positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    if let set = value as? any EncodableSet { return try set.data(encoder) }
    return try encoder.encode(value)
  }

  /// Returns the value decoded from JSON.
  ///
  /// - Throws: `DecodingError`.
  public static func value<Value: Decodable>(from data: Data, as type: Value.Type) throws -> Value {
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    return try decoder.decode(type, from: data)
  }
}

private protocol EncodableSet { func data(_ encoder: JSONEncoder) throws -> Data }
extension Set: EncodableSet where Element: Encodable {
  /// The order of a set's elements is random in each process. Equal sets have equal bytes nevertheless.
  fileprivate func data(_ encoder: JSONEncoder) throws -> Data {
    let elements = try map { (element: $0, data: try encoder.encode($0)) }.sorted { $0.data.lexicographicallyPrecedes($1.data) }
    return try encoder.encode(elements.map(\.element))
  }
}

// MARK: - Advice

extension AttributeTransformError: LocalizedError {}

extension AttributeTransformError: AdvisedError {
  /// The messages for the user and the developer of an application.
  package var advice: ErrorAdvice {
    switch self {
    case .unknownTransformer:
      ErrorAdvice(
        user: "The application is configured incorrectly.",
        developer: "Call AttributeTransformers.register(_:forName:) before a store is opened.")
    case .wrongType:
      ErrorAdvice(
        user: "A value has the wrong type.",
        developer: "Use a value of the transformer's type, or an Encodable value if the attribute has no transformer.")
    case .failed:
      ErrorAdvice(
        user: "A value cannot be used.",
        developer: "Check the transformer. Only the type of its error is reported, because the error may contain the value.")
    }
  }
}
