// NSQueryGenerationToken: states of stores that hold still, as objects.
public import Foundation
import ObjectContext
package import ObjectStore

/// A state of stores that holds still as long as somebody reads it.
public final class NSQueryGenerationToken: NSObject, NSCopying, Sendable {
  package let token: QueryGenerationToken

  package init(_ token: QueryGenerationToken) { self.token = token }

  /// The state that is the newest one when it is read next.
  public class var current: NSQueryGenerationToken { NSQueryGenerationToken(.current) }

  /// The token: it does not change.
  public func copy(with zone: NSZone? = nil) -> Any { self }
  /// Tokens are equal where their states are.
  public override func isEqual(_ object: Any?) -> Bool { (object as? NSQueryGenerationToken)?.token == token }
  /// The hash of the states.
  public override var hash: Int { token.hashValue }
}
