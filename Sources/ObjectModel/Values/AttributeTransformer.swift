// AttributeTransformer: how values of transformable attributes become bytes.
public import Foundation
import Synchronization

/// Turns values of a `transformable` attribute into bytes and back.
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
/// Register a transformer under a name before a store is opened, and give the attribute that name. Every context calls it, on whatever thread the context is
/// used, and may call it from several at once. It runs when a value is read from its row and when one is set, so it should be quick. An error that it throws
/// becomes an ``AttributeTransformError``. (Core Data's counterpart is Foundation's `ValueTransformer`, which is neither typed nor safe to share between
/// threads.)
public protocol AttributeTransformer<Value>: Sendable {
  /// The type of the values.
  associatedtype Value: Sendable
  /// The bytes of a value. Equal values should give equal bytes, so that an unchanged value is not saved.
  ///
  /// - Throws: An error that says why that is impossible: the change is refused with ``AttributeTransformError/failed(_:)``.
  func data(from value: Value) throws -> Data
  /// The value of bytes that ``data(from:)`` gave.
  ///
  /// - Throws: An error that says why that is impossible: the read throws ``AttributeTransformError/failed(_:)``.
  func value(from data: Data) throws -> Value
}

/// Why a transformable attribute's value could not be turned into bytes or back. It never holds the value.
public enum AttributeTransformError: Error, Sendable, Hashable, CustomStringConvertible {
  /// No transformer is registered under the name.
  case unknownTransformer(String)
  /// The transformer, or the default coding, does not take values of the type.
  case wrongType(String)
  /// The transformer refused the value or the bytes, and gave this reason.
  case failed(String)

  /// What is wrong and what to do.
  public var description: String {
    switch self {
    case .unknownTransformer(let name):
      "no transformer is registered as '\(name)'; call AttributeTransformers.register(_:forName:) before the store is opened"
    case .wrongType(let type): "the attribute's transformer does not take values of the type \(type)"
    case .failed(let type): "the attribute's transformer failed with \(type)"
    }
  }
}

/// The transformers of the process by name. They are safe to use from every thread.
///
/// An attribute without a transformer's name holds any `Codable` value as JSON with sorted keys. So does one that names Foundation's
/// secure-unarchiving transformer, which model files of Core Data name by default, unless something is registered under that name.
public enum AttributeTransformers {
  private static let registry = Mutex<[String: any AttributeTransformer]>([:])

  /// Registers a transformer under a name; the last one registered counts.
  public static func register(_ transformer: any AttributeTransformer, forName name: String) {
    registry.withLock { $0[name] = transformer }
  }

  /// Takes a transformer back, so that its name stands for none, or for the default coding where it is Foundation's.
  ///
  /// Values that were read stay as they are. A store that is open and has the name in its model throws ``AttributeTransformError/unknownTransformer(_:)`` for
  /// the attribute until one is registered again.
  /// - Returns: What was registered; nil where nothing was.
  @discardableResult
  public static func unregister(forName name: String) -> (any AttributeTransformer)? {
    registry.withLock { $0.removeValue(forKey: name) }
  }

  /// The transformer of a name; nil when there is none.
  public static func transformer(forName name: String) -> (any AttributeTransformer)? {
    registry.withLock { $0[name] }
  }

  /// Whether an attribute with a transformer's name can be used: one is registered, or the name is empty or stands for the default coding.
  package static func isAvailable(_ name: String) -> Bool {
    name.isEmpty || defaultNames.contains(name) || transformer(forName: name) != nil
  }

  /// Whether an attribute with a transformer's name keeps `Codable` values of any type as JSON.
  static func isForCodableValues(_ name: String) -> Bool {
    name.isEmpty || defaultNames.contains(name) && transformer(forName: name) == nil
  }

  /// The names of Foundation's secure transformer. The third is its constant's, which models have where somebody took it for its value.
  private static let defaultNames: Set<String> = [
    "NSSecureUnarchiveFromData", "NSSecureUnarchiveFromDataTransformer", "NSSecureUnarchiveFromDataTransformerName",
  ]

  /// The bytes of a value.
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

  /// The value of bytes.
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

  /// The value of bytes that a named transformer made, whatever its type.
  ///
  /// - Throws: ``AttributeTransformError``; without a transformer the type must be known, see ``value(from:as:transformerName:)``.
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
  /// The JSON of a value. Infinite numbers and NaN are written as strings.
  ///
  /// - Throws: What the value's `encode(to:)` throws.
  public static func data<Value: Encodable>(from value: Value) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.nonConformingFloatEncodingStrategy = .convertToString(positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    return try encoder.encode(value)
  }

  /// The value that JSON holds.
  ///
  /// - Throws: `DecodingError`.
  public static func value<Value: Decodable>(from data: Data, as type: Value.Type) throws -> Value {
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    return try decoder.decode(type, from: data)
  }
}
