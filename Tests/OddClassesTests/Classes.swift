// Classes: what an application writes itself beside generated source.
public import CipherData

/// A class whose properties are generated as an extension.
public class Extended: ManagedObject {
  /// A property of the application's own.
  var shout: Swift.String { (name ?? "").uppercased() }
}

/// A subclass of it, likewise.
public class Below: Extended {}

/// A type of the application's own in a transformable attribute.
public struct Money: Codable, Sendable, Hashable {
  /// The amount.
  public var cents: Int
}
