// NSPredicate: predicates as objects.
public import Foundation
import ObjectContext
import ObjectModel
package import ObjectQuery

/// A condition: written as text, or made of others.
///
/// A text that is no condition makes a predicate that matches nothing; every fetch with it throws what is wrong with the text.
public class NSPredicate: NSObject, @unchecked Sendable {  // it never changes
  package let outcome: Result<FetchPredicate, any Error>
  private let block: ((Any?, [String: Any]?) -> Bool)?

  package init(_ outcome: Result<FetchPredicate, any Error>) { (self.outcome, block) = (outcome, nil) }

  /// A condition written in Swift, about the object and the values of variables. It filters collections, and objects that were fetched; no store can ask it.
  public init(block: @escaping (Any?, [String: Any]?) -> Bool) {
    self.block = block
    let lent = Lent(value: block)
    outcome = .success(
      .block(BlockPredicate("NSPredicate(block:)") { lent.value(($0 as? EvaluatedValue).map(\.value) ?? $0, nil) }))
  }

  convenience init(_ predicate: FetchPredicate) { self.init(.success(predicate)) }

  /// Reads a condition: `"title BEGINSWITH[cd] %@ AND pages > %d"`.
  public convenience init(format: String, _ arguments: Any?...) { self.init(format: format, argumentArray: arguments.map { $0 as Any }) }

  /// Reads a condition with its arguments in an array.
  public convenience init(format: String, argumentArray: [Any]?) {
    self.init(Result { try FetchPredicate(format: format, arguments: (argumentArray ?? []).map(PredicateArgument.expression)) })
  }

  /// Reads a condition.
  ///
  /// - Parameters:
  ///   - format: The text.
  ///   - argumentArray: What stands for `%@` and its kin.
  /// - Throws: `NSError` for a text that is no condition, and for an argument that cannot be compared.
  public convenience init(checking format: String, argumentArray: [Any] = []) throws {
    let predicate = try CoreDataError.translating {
      try FetchPredicate(format: format, arguments: argumentArray.map(PredicateArgument.expression))
    }
    self.init(.success(predicate))
  }

  /// A condition that everything meets, or nothing.
  public convenience init(value: Bool) { self.init(.constant(value)) }

  /// The condition as text; of a text that is no condition the one for nothing.
  public var predicateFormat: String { predicate.predicateFormat }

  /// The condition; one that nothing meets where its text is none.
  var predicate: FetchPredicate { (try? outcome.get()) ?? .constant(false) }

  /// The condition with values for its variables (`$X`).
  public func withSubstitutionVariables(_ variables: [String: Any]) -> NSPredicate {
    NSPredicate(
      Result {
        let constants = try variables.mapValues { try PredicateArgument.constant($0) as (any FetchConstantConvertible)? }
        return try outcome.get().withSubstitutionVariables(constants)
      })
  }

  /// Whether an object meets the condition with values for its variables.
  ///
  /// - Parameters:
  ///   - object: The object.
  ///   - bindings: The values of variables.
  public func evaluate(with object: Any?, substitutionVariables bindings: [String: Any]?) -> Bool {
    if let block { return block(object, bindings) }
    let bindings = bindings ?? [:]
    let value = AttributeConversion.unwrapped(object)
    if let object = value as? ManagedObject, let answer = answer(about: object, bindings) { return answer }
    // What cannot be evaluated is not met.
    return (try? predicate.evaluate(withAny: value, variables: bindings, reading: ApplicationReading())) ?? false
  }

  /// Whether an object meets the condition: a managed object, a dictionary, a value, a collection, or an object of the application's own, whose stored properties the
  /// condition names. Values of different types are unequal. Where the condition cannot be evaluated, the object does not meet it.
  public func evaluate(with object: Any?) -> Bool { evaluate(with: object, substitutionVariables: nil) }

  /// The answer that a store would give about a managed object; nil where no store can.
  private func answer(about object: ManagedObject, _ bindings: [String: Any]) -> Bool? {
    do {
      let condition = try bindings.isEmpty ? outcome.get() : withSubstitutionVariables(bindings).outcome.get()
      return try condition.evaluate(with: object)
    } catch is FetchPredicateError { return nil } catch { return false }
  }

  /// The condition as text.
  public override var description: String { predicateFormat }
  /// Predicates are equal where their conditions are.
  public override func isEqual(_ object: Any?) -> Bool { (object as? NSPredicate)?.predicate == predicate }
  /// The hash of the condition.
  public override var hash: Int { predicate.hashValue }
}

/// A condition made of others.
public final class NSCompoundPredicate: NSPredicate, @unchecked Sendable {  // it never changes
  /// How the parts go together.
  public enum LogicalType: UInt, Sendable {
    /// The one part is not met.
    case not
    /// All are met.
    case and
    /// One at least is met.
    case or
  }

  /// How the parts go together.
  public let compoundPredicateType: LogicalType
  /// The parts.
  public let subpredicates: [Any]

  /// A condition of parts that go together in a way.
  public init(type: LogicalType, subpredicates: [NSPredicate]) {
    compoundPredicateType = type
    self.subpredicates = subpredicates
    super.init(
      Result {
        let parts = try subpredicates.map { try $0.outcome.get() }
        return switch type {
        case .and: .and(parts)
        case .or: .or(parts)
        case .not: .not(parts.first ?? .constant(true))
        }
      })
  }

  /// All parts are met.
  public convenience init(andPredicateWithSubpredicates subpredicates: [NSPredicate]) {
    self.init(type: .and, subpredicates: subpredicates)
  }
  /// One part at least is met.
  public convenience init(orPredicateWithSubpredicates subpredicates: [NSPredicate]) { self.init(type: .or, subpredicates: subpredicates) }
  /// The part is not met.
  public convenience init(notPredicateWithSubpredicate predicate: NSPredicate) { self.init(type: .not, subpredicates: [predicate]) }
}
