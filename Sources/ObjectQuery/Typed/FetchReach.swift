// FetchReach: whether a typed query looks at an object itself or through relationships, where it may be missing.
public import Foundation
public import ObjectModel

/// How an object is reached, which decides the Swift types of the values that a query selects: a required attribute of an object at hand is never nil,
/// one of an object behind a to-one relationship may be.
public protocol FetchReach {
  /// The type of required attributes of type Integer 16.
  associatedtype _Integer16
  /// The type of required attributes of type Integer 32.
  associatedtype _Integer32
  /// The type of required attributes of type Integer 64.
  associatedtype _Integer64
  /// The type of required attributes of type Double.
  associatedtype _Double
  /// The type of required attributes of type Float.
  associatedtype _Float
  /// The type of required attributes of type Decimal.
  associatedtype _Decimal
  /// The type of required attributes of type Boolean.
  associatedtype _Boolean
  /// The type of required attributes of type String.
  associatedtype _String
  /// The type of required attributes of type Date.
  associatedtype _Date
  /// The type of required attributes of type Binary Data.
  associatedtype _Binary
  /// The type of required attributes of type UUID.
  associatedtype _UUID
  /// The type of required attributes of type URI.
  associatedtype _URI
  /// The type of objects' IDs.
  associatedtype _ObjectID
}

/// The object asked about, or a member of a collection: it is there.
public enum FetchDirect: FetchReach {
  /// Required attributes have a value.
  public typealias _Integer16 = Swift.Int16
  /// Required attributes have a value.
  public typealias _Integer32 = Swift.Int32
  /// Required attributes have a value.
  public typealias _Integer64 = Swift.Int64
  /// Required attributes have a value.
  public typealias _Double = Swift.Double
  /// Required attributes have a value.
  public typealias _Float = Swift.Float
  /// Required attributes have a value.
  public typealias _Decimal = Foundation.Decimal
  /// Required attributes have a value.
  public typealias _Boolean = Swift.Bool
  /// Required attributes have a value.
  public typealias _String = Swift.String
  /// Required attributes have a value.
  public typealias _Date = Foundation.Date
  /// Required attributes have a value.
  public typealias _Binary = Foundation.Data
  /// Required attributes have a value.
  public typealias _UUID = Foundation.UUID
  /// Required attributes have a value.
  public typealias _URI = Foundation.URL
  /// The object is there.
  public typealias _ObjectID = ManagedObjectID
}

/// An object behind a to-one relationship or an index: it may be missing, and its values with it.
public enum FetchIndirect: FetchReach {
  /// The object may be missing.
  public typealias _Integer16 = Swift.Int16?
  /// The object may be missing.
  public typealias _Integer32 = Swift.Int32?
  /// The object may be missing.
  public typealias _Integer64 = Swift.Int64?
  /// The object may be missing.
  public typealias _Double = Swift.Double?
  /// The object may be missing.
  public typealias _Float = Swift.Float?
  /// The object may be missing.
  public typealias _Decimal = Foundation.Decimal?
  /// The object may be missing.
  public typealias _Boolean = Swift.Bool?
  /// The object may be missing.
  public typealias _String = Swift.String?
  /// The object may be missing.
  public typealias _Date = Foundation.Date?
  /// The object may be missing.
  public typealias _Binary = Foundation.Data?
  /// The object may be missing.
  public typealias _UUID = Foundation.UUID?
  /// The object may be missing.
  public typealias _URI = Foundation.URL?
  /// The object may be missing.
  public typealias _ObjectID = ManagedObjectID?
}
