public import Foundation
import ObjectContext
package import ObjectStore

/// A position in the histories of stores. Tokens can be archived.
public final class NSPersistentHistoryToken: NSObject, NSSecureCoding, NSCopying, Sendable {
  package let token: PersistentHistoryToken

  package init(_ token: PersistentHistoryToken) { self.token = token }

  /// Returns true: tokens support secure coding.
  public static var supportsSecureCoding: Bool { true }

  /// Decodes a token; returns nil if the archive does not contain one.
  public init?(coder: NSCoder) {
    guard let text = coder.decodeObject(of: NSString.self, forKey: "token"), let token = PersistentHistoryToken("\(text)") else {
      return nil
    }
    self.token = token
  }

  /// Encodes the token.
  public func encode(with coder: NSCoder) { coder.encode(token.description as NSString, forKey: "token") }

  /// Returns the token itself, which is immutable.
  public func copy(with zone: NSZone? = nil) -> Any { self }
  /// Returns whether both tokens have the same positions.
  public override func isEqual(_ object: Any?) -> Bool { (object as? NSPersistentHistoryToken)?.token == token }
  /// A hash of the positions.
  public override var hash: Int { token.hashValue }
  /// The token as a single line of text.
  public override var description: String { token.description }
}

/// A token for a query generation: a state of stores that does not change while it is in use.
public final class NSQueryGenerationToken: NSObject, NSCopying, Sendable {
  package let token: QueryGenerationToken

  package init(_ token: QueryGenerationToken) { self.token = token }

  /// A token that pins a context to the latest state at its next read.
  public class var current: NSQueryGenerationToken { NSQueryGenerationToken(.current) }

  /// Returns the token itself, which is immutable.
  public func copy(with zone: NSZone? = nil) -> Any { self }
  /// Returns whether both tokens refer to the same states.
  public override func isEqual(_ object: Any?) -> Bool { (object as? NSQueryGenerationToken)?.token == token }
  /// A hash of the states.
  public override var hash: Int { token.hashValue }
}
