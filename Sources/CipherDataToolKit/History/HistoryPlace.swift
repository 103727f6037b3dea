// HistoryPlace: a place in a history as an option names it: a token, or a date.
import Foundation
import ObjectModel
import ObjectQuery
import ObjectStore

/// What `--after` and `--purge-before` take.
enum HistoryPlace: Sendable {
  case token(PersistentHistoryToken)
  case date(Date)

  /// Reads an option.
  ///
  /// - Throws: ``ToolError`` where the text is neither.
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

  /// The token; nil for a date.
  var token: PersistentHistoryToken? { if case .token(let token) = self { token } else { nil } }

  /// The condition on transactions; nil for a token.
  var condition: FetchPredicate? {
    if case .date(let date) = self { .compare("timestamp", .greaterOrEqual, date) } else { nil }
  }
}

/// Which part of a history is wanted.
struct HistoryQuestion: Sendable {
  var after: HistoryPlace?
  var author: String?
  /// The entity, with those below it.
  var entity: String?
  /// The URI of an object.
  var object: String?
  /// At most so many transactions.
  var limit: Int?
  /// Whether values are told, where the history has them.
  var showsValues = false
  /// Whether the record with which the history begins is listed too.
  var showsBeginning = false

  /// The condition on transactions.
  var transactions: FetchPredicate? {
    var conditions: [FetchPredicate] = []
    if let condition = after?.condition { conditions.append(condition) }
    if let author { conditions.append(.compare("author", .equal, author)) }
    // A condition over the kind finds the record of the beginning, which is left out otherwise.
    if showsBeginning { conditions.append(.compare("kind", .notEqual, "")) }
    return conditions.isEmpty ? nil : .and(conditions)
  }

  /// The condition on changes.
  ///
  /// - Throws: ``ToolError`` where the model has no such entity.
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
          .badData, "--object takes the URI of an object of the store, as the column @id of fetch shows it; this is none: \(object)")
      }
      conditions.append(.compare("object", .equal, id.uriString))
    }
    return conditions.isEmpty ? nil : .and(conditions)
  }
}
