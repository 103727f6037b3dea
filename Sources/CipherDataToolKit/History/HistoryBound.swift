import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore

/// A position in a history, given by `--after` or `--purge-before` as a token or a date.
enum HistoryBound: Sendable {
  case token(PersistentHistoryToken)
  case date(Date)

  /// Parses an option.
  ///
  /// - Throws: ``ToolError`` if the text is neither a token nor a date.
  init(_ text: String, option: String) throws {
    if let token = PersistentHistoryToken(text) {
      self = .token(token)
    } else if let seconds = InstantText.seconds(text) {
      self = .date(Date(timeIntervalSinceReferenceDate: seconds))
    } else {
      throw ToolError(
        .badData,
        "\(option) takes a token, as `cipherdata history` prints them, or a date such as 2026-01-31T12:00:00Z; this is neither: \(text)")
    }
  }

  /// The token; `nil` for a date.
  var token: PersistentHistoryToken? { if case .token(let token) = self { token } else { nil } }

  /// The condition on transactions; `nil` for a token.
  var condition: FetchPredicate? {
    if case .date(let date) = self { .compare("timestamp", .greaterOrEqual, date) } else { nil }
  }
}

/// A query for a part of a history.
struct HistorySelection: Sendable {
  var after: HistoryBound?
  var author: String?
  /// The name of the entity; its subentities are included.
  var entity: String?
  /// The URI of an object.
  var object: String?
  /// The maximum number of transactions.
  var limit: Int?
  /// Whether values are shown, where the history has them.
  var showsValues = false
  /// Whether the record at the beginning of the history is included.
  var showsBeginning = false

  /// The condition on transactions.
  var transactions: FetchPredicate? {
    var conditions: [FetchPredicate] = []
    if let condition = after?.condition { conditions.append(condition) }
    if let author { conditions.append(.compare("author", .equal, author)) }
    // A condition on `kind` includes the record at the beginning, which is omitted by default.
    if showsBeginning { conditions.append(.compare("kind", .notEqual, "")) }
    return conditions.isEmpty ? nil : .and(conditions)
  }

  /// Returns the condition on changes.
  ///
  /// - Throws: ``ToolError`` if the model does not contain the entity.
  func changes(_ coordinator: PersistentStoreCoordinator) throws -> FetchPredicate? {
    var conditions: [FetchPredicate] = []
    if let entity {
      let model = coordinator.compiledModel
      let names = try model.requireEntity(named: entity).subtree.map { model.entities[$0].name }
      conditions.append(.compare("entity", .in, names))
    }
    if let object {
      guard let url = URL(string: object), let id = coordinator.managedObjectID(forURIRepresentation: url) else {
        throw ToolError(
          .badData, "--object takes the URI of an object of the store, as the column @id of fetch shows it; this is not one: \(object)")
      }
      conditions.append(.compare("object", .equal, id.uriString))
    }
    return conditions.isEmpty ? nil : .and(conditions)
  }
}
