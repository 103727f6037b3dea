public import Foundation
import ObjectContext
package import ObjectStore

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
