public import CipherData
public import Foundation

/// A class whose properties are generated in an extension.
public class Extended: ManagedObject {
  /// A property of the application's own.
  var shout: Swift.String { (name ?? "").uppercased() }

  /// The keys with validation rules.
  public override class var keysWithCustomValidation: [Swift.String] { keysWithTypedValidation }

  /// Calls the validation rules.
  public override func validateValue(_ value: inout Any?, forKey key: Swift.String) throws {
    try validateTyped(&value, forKey: key)
    try super.validateValue(&value, forKey: key)
  }

  /// Validates `age`.
  func validateAge(_ value: inout Int16) throws { value = max(value, 0) }
}

/// A subclass with generated properties in an extension.
public class Below: Extended {}

extension Keywords {
  /// Validates `loudly`: trims spaces, and replaces an empty text by nil.
  func validateLoudly(_ value: inout Swift.String?) throws {
    value = value?.trimmingCharacters(in: .whitespaces)
    if value == "" { value = nil }
    if value == "shout" { throw Quiet() }
  }

  /// Validates `list`, whose value comes from the transformer.
  func validateList(_ value: inout [Swift.String]) { value.removeAll { $0 == "" } }

  /// Validates `custom`, whose value comes from the transformer.
  func validateCustom(_ value: inout Money?) { if value?.cents == 0 { value = nil } }

  /// Validates `token` as its type, not as the raw value.
  func validateToken(_ value: inout Token) throws { if value == Token.zero { throw Quiet() } }

  /// The error of the validation rules.
  struct Quiet: Error {}
}

/// Moods by number.
public enum Mood: Int, Sendable {
  /// Low spirits.
  case sad = -1
  /// High spirits.
  case glad = 1
  /// A mood that exceeds the attribute's range.
  case beyond = 1_000_000
}

/// Tints by name. In the model, `default` replaces unknown ones.
public enum Tint: Swift.String, Codable, Sendable {
  /// A tint.
  case red
  /// A tint.
  case blue
  /// The replacement for unknown tints.
  case `default`
}

/// A struct with raw values.
public struct Token: RawRepresentable, Hashable, Sendable {
  /// The raw value.
  public var rawValue: UUID
  /// Creates a token with a raw value.
  public init(rawValue: UUID) { self.rawValue = rawValue }
  /// The token that the rule rejects.
  static let zero = Token(rawValue: UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)))
}

/// The application's type of a transformable attribute.
public struct Money: Codable, Sendable, Hashable {
  /// The amount.
  public var cents: Int
}
