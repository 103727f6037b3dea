// A target's own code next to generated classes, under any default isolation. Only what generated code calls is annotated as nonisolated.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
public import CipherData
import Foundation

/// A class whose properties are generated in an extension.
public class Person: ManagedObject {
  /// Kept in memory only.
  public var visits = 0

  public override class var keysWithCustomValidation: [String] { keysWithTypedValidation }

  public override func validateValue(_ value: inout Any?, forKey key: String) throws {
    try validateTyped(&value, forKey: key)
    try super.validateValue(&value, forKey: key)
  }

  public override func awakeFromInsert() { born = 1900 }

  func validateName(_ value: inout String) { value = value.trimmingCharacters(in: .whitespaces) }
}

/// A subclass of a generated class.
public final class Library: Shelf {
  public override func willSave() { if label.isEmpty { label = "Library" } }
}

public enum Progress: Int16, Sendable { case unread, reading, finished }

/// A value of a transformable attribute.
public struct Cover: Codable, Hashable, Sendable {
  public var colours: [String]
  public init(colours: [String]) { self.colours = colours }
}

// Called by generated code.
nonisolated extension Book {
  func validateTitle(_ value: inout String) throws { value = value.trimmingCharacters(in: .whitespaces) }
}

/// A migration policy.
public final class BookPolicy: EntityMigrationPolicy {
  public override func begin(_ mapping: EntityMapping, with manager: MigrationManager) throws {}

  public override func createDestinationInstances(
    forSource source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
  }
}

/// A source of keys.
public struct Keychain: StoreKeyProvider {
  public init() {}

  public func key(for request: StoreKeyRequest) async throws -> SecretBytes { SecretBytes(utf8: "correct horse battery staple") }
}
