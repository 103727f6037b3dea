public import Foundation
public import ObjectModel

/// The way in which an object is reached. It determines the Swift types of selected values: a required attribute of the fetched object is
/// never nil, but one of an object at the end of a to-one relationship may be. The default types are those of ``FetchIndirect``.
public protocol FetchReach {
  /// The type of required attributes of type Integer 16.
  associatedtype Integer16 = Swift.Int16?
  /// The type of required attributes of type Integer 32.
  associatedtype Integer32 = Swift.Int32?
  /// The type of required attributes of type Integer 64.
  associatedtype Integer64 = Swift.Int64?
  /// The type of required attributes of type Double.
  associatedtype Double = Swift.Double?
  /// The type of required attributes of type Float.
  associatedtype Float = Swift.Float?
  /// The type of required attributes of type Decimal.
  associatedtype Decimal = Foundation.Decimal?
  /// The type of required attributes of type Boolean.
  associatedtype Boolean = Swift.Bool?
  /// The type of required attributes of type String.
  associatedtype String = Swift.String?
  /// The type of required attributes of type Date.
  associatedtype Date = Foundation.Date?
  /// The type of required attributes of type Binary Data.
  associatedtype Binary = Foundation.Data?
  /// The type of required attributes of type UUID.
  associatedtype UUID = Foundation.UUID?
  /// The type of required attributes of type URI.
  associatedtype URI = Foundation.URL?
  /// The type of object IDs.
  associatedtype ObjectID = ManagedObjectID?
}

/// A fetched object, or a member of a collection, which always exists.
public enum FetchDirect: FetchReach {
  /// Required attributes always have a value.
  public typealias Integer16 = Swift.Int16
  /// Required attributes always have a value.
  public typealias Integer32 = Swift.Int32
  /// Required attributes always have a value.
  public typealias Integer64 = Swift.Int64
  /// Required attributes always have a value.
  public typealias Double = Swift.Double
  /// Required attributes always have a value.
  public typealias Float = Swift.Float
  /// Required attributes always have a value.
  public typealias Decimal = Foundation.Decimal
  /// Required attributes always have a value.
  public typealias Boolean = Swift.Bool
  /// Required attributes always have a value.
  public typealias String = Swift.String
  /// Required attributes always have a value.
  public typealias Date = Foundation.Date
  /// Required attributes always have a value.
  public typealias Binary = Foundation.Data
  /// Required attributes always have a value.
  public typealias UUID = Foundation.UUID
  /// Required attributes always have a value.
  public typealias URI = Foundation.URL
  /// The object always exists.
  public typealias ObjectID = ManagedObjectID
}

/// An object at the end of a to-one relationship or at an index. It may be missing, and its values with it.
public enum FetchIndirect: FetchReach {}
