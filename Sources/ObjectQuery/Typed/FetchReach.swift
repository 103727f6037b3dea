public import Foundation
public import ObjectModel

/// The way in which an object is reached. It determines the Swift types of selected values: a required attribute of the fetched object is
/// never nil, but one of an object at the end of a to-one relationship may be.
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
  /// The type of object IDs.
  associatedtype _ObjectID
}

/// A fetched object, or a member of a collection, which always exists.
public enum FetchDirect: FetchReach {
  /// Required attributes always have a value.
  public typealias _Integer16 = Swift.Int16
  /// Required attributes always have a value.
  public typealias _Integer32 = Swift.Int32
  /// Required attributes always have a value.
  public typealias _Integer64 = Swift.Int64
  /// Required attributes always have a value.
  public typealias _Double = Swift.Double
  /// Required attributes always have a value.
  public typealias _Float = Swift.Float
  /// Required attributes always have a value.
  public typealias _Decimal = Foundation.Decimal
  /// Required attributes always have a value.
  public typealias _Boolean = Swift.Bool
  /// Required attributes always have a value.
  public typealias _String = Swift.String
  /// Required attributes always have a value.
  public typealias _Date = Foundation.Date
  /// Required attributes always have a value.
  public typealias _Binary = Foundation.Data
  /// Required attributes always have a value.
  public typealias _UUID = Foundation.UUID
  /// Required attributes always have a value.
  public typealias _URI = Foundation.URL
  /// The object always exists.
  public typealias _ObjectID = ManagedObjectID
}

/// An object at the end of a to-one relationship or at an index. It may be missing, and its values with it.
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
