// NSPersistentHistoryToken: a place in the histories of stores as an object.
public import Foundation
package import ObjectStore

/// A place in the histories of stores, which may be archived.
public final class NSPersistentHistoryToken: NSObject, NSSecureCoding, NSCopying, Sendable {
  package let token: PersistentHistoryToken

  package init(_ token: PersistentHistoryToken) { self.token = token }

  /// Tokens may be archived securely.
  public static var supportsSecureCoding: Bool { true }

  /// Reads an archived token; nil where it is none.
  public init?(coder: NSCoder) {
    guard let text = coder.decodeObject(of: NSString.self, forKey: "token"), let token = PersistentHistoryToken("\(text)") else {
      return nil
    }
    self.token = token
  }

  /// Archives the token.
  public func encode(with coder: NSCoder) { coder.encode(token.description as NSString, forKey: "token") }

  /// The token: it does not change.
  public func copy(with zone: NSZone? = nil) -> Any { self }
  /// Tokens are equal where their places are.
  public override func isEqual(_ object: Any?) -> Bool { (object as? NSPersistentHistoryToken)?.token == token }
  /// The hash of the places.
  public override var hash: Int { token.hashValue }
  /// The token as one line.
  public override var description: String { token.description }
}
