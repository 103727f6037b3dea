// Classes: what an application writes itself beside generated source.
public import CipherData
public import Foundation

/// A class whose properties are generated as an extension.
public class Extended: ManagedObject {
  /// A property of the application's own.
  var shout: Swift.String { (name ?? "").uppercased() }

  /// The keys with rules.
  public override class var keysWithCustomValidation: [Swift.String] { keysWithTypedValidation }

  /// Calls the rules.
  public override func validateValue(_ value: inout Any?, forKey key: Swift.String) throws {
    try validateTyped(&value, forKey: key)
    try super.validateValue(&value, forKey: key)
  }

  /// A rule for `age`.
  func validateAge(_ value: inout Int16) throws { value = max(value, 0) }
}

/// A subclass of it, likewise.
public class Below: Extended {}

extension Keywords {
  /// A rule for `loudly`: without spaces at its ends, and nothing at all rather than an empty text.
  func validateLoudly(_ value: inout Swift.String?) throws {
    value = value?.trimmingCharacters(in: .whitespaces)
    if value == "" { value = nil }
    if value == "shout" { throw Quiet() }
  }

  /// A rule for `list`, which takes what the transformer gives.
  func validateList(_ value: inout [Swift.String]) { value.removeAll { $0 == "" } }

  /// A rule for `custom`, likewise.
  func validateCustom(_ value: inout Money?) { if value?.cents == 0 { value = nil } }

  /// A rule for `token`, which takes its type and not the raw value's.
  func validateToken(_ value: inout Token) throws { if value == Token.zero { throw Quiet() } }

  /// What the rules say.
  struct Quiet: Error {}
}

/// Moods by number.
public enum Mood: Int, Sendable {
  /// Low spirits.
  case sad = -1
  /// High spirits.
  case glad = 1
  /// A mood that does not fit into the attribute.
  case beyond = 1_000_000
}

/// Tints by name; the model says that unknown ones read as `default`.
public enum Tint: Swift.String, Codable, Sendable {
  /// A tint.
  case red
  /// A tint.
  case blue
  /// What unknown tints read as.
  case `default`
}

/// A name of something: a struct with raw values.
public struct Token: RawRepresentable, Hashable, Sendable {
  /// The raw value.
  public var rawValue: UUID
  /// A token of a raw value.
  public init(rawValue: UUID) { self.rawValue = rawValue }
  /// A token that the rule refuses.
  static let zero = Token(rawValue: UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)))
}

/// A type of the application's own in a transformable attribute.
public struct Money: Codable, Sendable, Hashable {
  /// The amount.
  public var cents: Int
}
