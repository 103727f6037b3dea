public import Foundation
import ObjectModel
import Synchronization

/// The name of a transformer.
public struct NSValueTransformerName: RawRepresentable, Hashable, Sendable {
  /// The name as a string.
  public let rawValue: String
  /// Creates a name from a string.
  public init(rawValue: String) { self.rawValue = rawValue }
  /// Creates a name from a string.
  public init(_ rawValue: String) { self.rawValue = rawValue }
  /// The default transformer of models, for values that support secure archiving, and for `Codable` values.
  public static let secureUnarchiveFromDataTransformerName = NSValueTransformerName("NSSecureUnarchiveFromData")
}

/// A transformer between values, such as between objects and data; equivalent to Foundation's class, which Linux lacks. Attributes use the
/// transformer that their model names.
///
/// Register transformers before opening a store. Contexts call a transformer on their queues, possibly at the same time.
open class ValueTransformer: NSObject {
  private static let registry = Mutex<[String: Registered]>([:])
  // The application that registers a transformer ensures that any thread may call it, as on Apple's systems.
  private struct Registered: @unchecked Sendable {
    let transformer: ValueTransformer
  }
  private let registered: ValueTransformer?

  /// Creates a transformer.
  public override init() { registered = nil }

  /// Creates a transformer that forwards to the registered one with a name; returns nil if there is none.
  public init?(forName name: NSValueTransformerName) {
    guard let found = Self.registry.withLock({ $0[name.rawValue] }) else { return nil }
    registered = found.transformer
  }

  /// Registers a transformer under a name; nil removes the registration.
  public class func setValueTransformer(_ transformer: ValueTransformer?, forName name: NSValueTransformerName) {
    let entry = transformer.map(Registered.init)
    registry.withLock { $0[name.rawValue] = entry }
    if let transformer {
      AttributeTransformers.register(RegisteredTransformer(transformer: transformer), forName: name.rawValue)
    } else {
      AttributeTransformers.unregister(forName: name.rawValue)
    }
  }

  /// Returns the names of the registered transformers.
  public class func valueTransformerNames() -> [NSValueTransformerName] {
    registry.withLock { $0.keys.sorted() }.map(NSValueTransformerName.init(_:))
  }

  /// Returns the class of transformed values.
  open class func transformedValueClass() -> AnyClass { NSObject.self }
  /// Returns whether the transformation is reversible.
  open class func allowsReverseTransformation() -> Bool { true }
  /// Transforms a value; the result is data for a transformer of an attribute.
  open func transformedValue(_ value: Any?) -> Any? { registered?.transformedValue(value) ?? value }
  /// Reverses the transformation of a value.
  open func reverseTransformedValue(_ value: Any?) -> Any? {
    if let registered { return registered.reverseTransformedValue(value) }
    return Self.allowsReverseTransformation() ? transformedValue(value) : nil
  }

  /// Whether the stored value is the result of ``reverseTransformedValue(_:)``.
  var isReversed: Bool { registered?.isReversed ?? false }
}

/// A transformer that decodes data to objects, and encodes objects as secure archives in reverse.
open class NSSecureUnarchiveFromDataTransformer: ValueTransformer {
  /// The allowed classes of the objects.
  open class var allowedTopLevelClasses: [AnyClass] { SecureArchive.plainClasses }
  /// The class of the decoded objects.
  open override class func transformedValueClass() -> AnyClass { allowedTopLevelClasses.first ?? NSObject.self }
  /// Decodes data to an object; nil if it is not an archive.
  open override func transformedValue(_ value: Any?) -> Any? {
    guard let data = (value as? Data) ?? (value as? NSData).map({ Data(referencing: $0) }) else { return nil }
    return try? SecureArchive.object(of: data, classes: Self.allowedTopLevelClasses)
  }
  /// Encodes an object as data; nil if it cannot be archived.
  open override func reverseTransformedValue(_ value: Any?) -> Any? { value.flatMap { try? SecureArchive.data(of: $0) } }

  override var isReversed: Bool { true }
}

/// Adapts a transformer to the library's protocol.
// The application that registers a transformer ensures that any thread may call it, as on Apple's systems.
private struct RegisteredTransformer: AttributeTransformer, @unchecked Sendable {
  let transformer: ValueTransformer

  func data(from value: any Sendable) throws -> Data {
    let made = transformer.isReversed ? transformer.reverseTransformedValue(value) : transformer.transformedValue(value)
    if let data = made as? Data { return data }
    if let data = made as? NSData { return Data(referencing: data) }
    throw TransformerError.noData("\(type(of: transformer))")
  }

  func value(from data: Data) throws -> any Sendable {
    let made = transformer.isReversed ? transformer.transformedValue(data) : transformer.reverseTransformedValue(data)
    guard let made else { throw TransformerError.noValue("\(type(of: transformer))") }
    // The object is passed only to the context that requested it.
    guard let sendable = Self.cast(made, to: (any Sendable).self) else { throw TransformerError.noValue("\(type(of: transformer))") }
    return sendable
  }

  /// A cast that the compiler does not check, since it rejects casts to `Sendable`.
  private static func cast<Value>(_ value: Any, to type: Value.Type) -> Value? { value as? Value }
}

/// The errors of a transformer.
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

/// Encodes objects as secure archives.
enum SecureArchive {
  /// The classes of property lists.
  static let plainClasses: [AnyClass] = [
    NSArray.self, NSDictionary.self, NSSet.self, NSString.self, NSNumber.self, NSDate.self, NSData.self, NSURL.self, NSUUID.self,
    NSNull.self,
  ]

  /// Returns the archive of an object, or of a Swift value with a corresponding object.
  static func data(of value: Any) throws -> Data {
    try NSKeyedArchiver.archivedData(withRootObject: object(of: value), requiringSecureCoding: true)
  }

  /// Returns the object in an archive.
  static func object(of data: Data, classes: [AnyClass]) throws -> Any? {
    try NSKeyedUnarchiver.unarchivedObject(ofClasses: classes + plainClasses, from: data)
  }

  /// Returns whether a value is an object that can be archived.
  static func archives(_ value: Any) -> Bool { value is any NSCoding }

  /// Returns the object that a Swift value is bridged to on Apple's systems.
  private static func object(of value: Any) -> Any {
    switch value {
    case let value as any NSCoding: value
    case let text as String: NSString(string: text)
    case let flag as Bool: NSNumber(value: flag)
    case let number as Double: NSNumber(value: number)
    case let number as any BinaryInteger: NSNumber(value: Int64(clamping: number))
    case let date as Date: NSDate(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate)
    case let data as Data: NSData(data: data)
    case let url as URL: NSURL(string: url.absoluteString).map { $0 as Any } ?? url
    case let list as [Any]: NSArray(array: list.map(object))
    case let set as Set<AnyHashable>: NSSet(array: set.map { object(of: $0.base) })
    case let values as [String: Any]: NSDictionary(dictionary: values.mapValues(object))
    default: value
    }
  }
}
