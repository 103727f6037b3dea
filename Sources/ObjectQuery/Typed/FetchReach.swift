// FetchReach: whether a typed query looks at an object itself or through relationships, where it may be missing.
public import Foundation
public import ObjectModel

/// How an object is reached, which decides the Swift types of the values that a query selects: a required attribute of an object at hand is never nil,
/// one of an object behind a to-one relationship may be.
public protocol FetchReach {
  /// The type of required attributes of type Integer 16.
  associatedtype Integer16
  /// The type of required attributes of type Integer 32.
  associatedtype Integer32
  /// The type of required attributes of type Integer 64.
  associatedtype Integer64
  /// The type of required attributes of type Double.
  associatedtype Double
  /// The type of required attributes of type Float.
  associatedtype Float
  /// The type of required attributes of type Decimal.
  associatedtype Decimal
  /// The type of required attributes of type Boolean.
  associatedtype Boolean
  /// The type of required attributes of type String.
  associatedtype String
  /// The type of required attributes of type Date.
  associatedtype Date
  /// The type of required attributes of type Binary Data.
  associatedtype Binary
  /// The type of required attributes of type UUID.
  associatedtype UUID
  /// The type of required attributes of type URI.
  associatedtype URI
  /// The type of objects' IDs.
  associatedtype ObjectID
}

/// The object asked about, or a member of a collection: it is there.
public enum FetchDirect: FetchReach {
  /// Required attributes have a value.
  public typealias Integer16 = Swift.Int16
  /// Required attributes have a value.
  public typealias Integer32 = Swift.Int32
  /// Required attributes have a value.
  public typealias Integer64 = Swift.Int64
  /// Required attributes have a value.
  public typealias Double = Swift.Double
  /// Required attributes have a value.
  public typealias Float = Swift.Float
  /// Required attributes have a value.
  public typealias Decimal = Foundation.Decimal
  /// Required attributes have a value.
  public typealias Boolean = Swift.Bool
  /// Required attributes have a value.
  public typealias String = Swift.String
  /// Required attributes have a value.
  public typealias Date = Foundation.Date
  /// Required attributes have a value.
  public typealias Binary = Foundation.Data
  /// Required attributes have a value.
  public typealias UUID = Foundation.UUID
  /// Required attributes have a value.
  public typealias URI = Foundation.URL
  /// The object is there.
  public typealias ObjectID = ManagedObjectID
}

/// An object behind a to-one relationship or an index: it may be missing, and its values with it.
public enum FetchIndirect: FetchReach {
  /// The object may be missing.
  public typealias Integer16 = Swift.Int16?
  /// The object may be missing.
  public typealias Integer32 = Swift.Int32?
  /// The object may be missing.
  public typealias Integer64 = Swift.Int64?
  /// The object may be missing.
  public typealias Double = Swift.Double?
  /// The object may be missing.
  public typealias Float = Swift.Float?
  /// The object may be missing.
  public typealias Decimal = Foundation.Decimal?
  /// The object may be missing.
  public typealias Boolean = Swift.Bool?
  /// The object may be missing.
  public typealias String = Swift.String?
  /// The object may be missing.
  public typealias Date = Foundation.Date?
  /// The object may be missing.
  public typealias Binary = Foundation.Data?
  /// The object may be missing.
  public typealias UUID = Foundation.UUID?
  /// The object may be missing.
  public typealias URI = Foundation.URL?
  /// The object may be missing.
  public typealias ObjectID = ManagedObjectID?
}
