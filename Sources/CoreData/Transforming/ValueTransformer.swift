// ValueTransformer: Foundation's class of that name, which Linux lacks: how values of transformable attributes become bytes.
public import Foundation
import ObjectModel
import Synchronization

/// The name of a transformer.
public struct NSValueTransformerName: RawRepresentable, Hashable, Sendable {
  /// The text.
  public let rawValue: String
  /// A name of a text.
  public init(rawValue: String) { self.rawValue = rawValue }
  /// A name of a text.
  public init(_ rawValue: String) { self.rawValue = rawValue }
  /// What models name by default: values that archive securely, and `Codable` ones.
  public static let secureUnarchiveFromDataTransformerName = NSValueTransformerName("NSSecureUnarchiveFromData")
}

/// Turns values into others, such as bytes, and back. Registered under a name, it is that of the attributes whose model names it.
///
/// Register before a store is opened. Contexts call a transformer on their queues, and may do so at the same time.
open class ValueTransformer: NSObject {
  private static let registry = Mutex<[String: Registered]>([:])
  // Those who register a transformer see to it that it may be called on any thread, as on Apple's systems.
  private struct Registered: @unchecked Sendable {
    let transformer: ValueTransformer
  }
  private let registered: ValueTransformer?

  /// A transformer.
  public override init() { registered = nil }

  /// The transformer of a name; nil where there is none.
  public init?(forName name: NSValueTransformerName) {
    guard let found = Self.registry.withLock({ $0[name.rawValue] }) else { return nil }
    registered = found.transformer
  }

  /// Registers a transformer under a name, or takes it back where it is nil.
  public class func setValueTransformer(_ transformer: ValueTransformer?, forName name: NSValueTransformerName) {
    let entry = transformer.map(Registered.init)
    registry.withLock { $0[name.rawValue] = entry }
    if let transformer {
      AttributeTransformers.register(RegisteredTransformer(transformer: transformer), forName: name.rawValue)
    } else {
      AttributeTransformers.unregister(forName: name.rawValue)
    }
  }

  /// The names that transformers are registered under.
  public class func valueTransformerNames() -> [NSValueTransformerName] {
    registry.withLock { $0.keys.sorted() }.map(NSValueTransformerName.init(_:))
  }

  /// The class of what values are turned into.
  open class func transformedValueClass() -> AnyClass { NSObject.self }
  /// Whether values can be turned back.
  open class func allowsReverseTransformation() -> Bool { true }
  /// Turns a value into another one: bytes, where it is that of an attribute.
  open func transformedValue(_ value: Any?) -> Any? { registered?.transformedValue(value) ?? value }
  /// Turns a value back.
  open func reverseTransformedValue(_ value: Any?) -> Any? {
    if let registered { return registered.reverseTransformedValue(value) }
    return Self.allowsReverseTransformation() ? transformedValue(value) : nil
  }

  /// Whether what is stored is what ``reverseTransformedValue(_:)`` makes.
  var storesReverse: Bool { registered?.storesReverse ?? false }
}

/// Archives objects securely: it turns bytes into objects, and objects back into bytes.
open class NSSecureUnarchiveFromDataTransformer: ValueTransformer {
  /// The classes of the objects.
  open class var allowedTopLevelClasses: [AnyClass] { SecureArchive.plainClasses }
  /// The class of what bytes are turned into.
  open override class func transformedValueClass() -> AnyClass { allowedTopLevelClasses.first ?? NSObject.self }
  /// Turns bytes into an object; nil where they are none.
  open override func transformedValue(_ value: Any?) -> Any? {
    guard let data = (value as? Data) ?? (value as? NSData).map({ Data(referencing: $0) }) else { return nil }
    return try? SecureArchive.object(of: data, classes: Self.allowedTopLevelClasses)
  }
  /// Turns an object into bytes; nil where it cannot be archived.
  open override func reverseTransformedValue(_ value: Any?) -> Any? { value.flatMap { try? SecureArchive.data(of: $0) } }

  override var storesReverse: Bool { true }
}

/// A transformer as the library calls it.
// Those who register a transformer see to it that it may be called on any thread, as on Apple's systems.
private struct RegisteredTransformer: AttributeTransformer, @unchecked Sendable {
  let transformer: ValueTransformer

  func data(from value: any Sendable) throws -> Data {
    let made = transformer.storesReverse ? transformer.reverseTransformedValue(value) : transformer.transformedValue(value)
    if let data = made as? Data { return data }
    if let data = made as? NSData { return Data(referencing: data) }
    throw TransformerError.noData("\(type(of: transformer))")
  }

  func value(from data: Data) throws -> any Sendable {
    let made = transformer.storesReverse ? transformer.transformedValue(data) : transformer.reverseTransformedValue(data)
    guard let made else { throw TransformerError.noValue("\(type(of: transformer))") }
    // The object is given to the context that has asked, and to nobody else.
    guard let lent = Self.cast(made, to: (any Sendable).self) else { throw TransformerError.noValue("\(type(of: transformer))") }
    return lent
  }

  /// A cast that the compiler does not look into: it knows no cast to `Sendable`.
  private static func cast<Value>(_ value: Any, to type: Value.Type) -> Value? { value as? Value }
}

/// Why a transformer is of no use.
enum TransformerError: LocalizedError {
  case noData(String)
  case noValue(String)

  var errorDescription: String? {
    switch self {
    case .noData(let type): "the value transformer \(type) makes no Data of the value"
    case .noValue(let type): "the value transformer \(type) makes no value of what is stored"
    }
  }
}
