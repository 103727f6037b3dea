import Foundation

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
