// A module that another one depends on.
// swift-format-ignore-file
public import CoreData
public import Foundation

open class BasisObject: NSManagedObject {
  public enum Level: Int16 { case low, high }
  @NSManaged public var identifier: UUID?
  @NSManaged open var level: Level
  @NSManaged public var basis: BasisObject?
}

public enum Basis {
  public struct Stamp { public init() {} }
}

public struct Weight { public init() {} }
public typealias Weights = [Weight]
public struct Shadowed { public init() {} }
public struct Pair<First, Second> {}
extension String { public enum Casing { case upper } }
