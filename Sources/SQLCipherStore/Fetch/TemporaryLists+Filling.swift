// TemporaryLists+Filling: fills the tables of long lists before a fetch, and empties them after it.
import ObjectModel
import ObjectQuery
import ObjectStore
import SQLCipherConnection

extension TemporaryLists {
  static func fill(_ constants: [Int], of fetch: ResolvedFetch, space: ObjectIDSpace, _ transaction: ReadTransaction) throws {
    for (number, constant) in constants.enumerated() {
      try create(number, transaction)
      try transaction.statement(sql: emptying(number)).run()
      let insert = try transaction.statement(sql: insertion(number))
      switch fetch.constants[constant] {
      case .slots(let slots):
        for slot in slots where !slot.isNull {
          try insert.bind(1, slot)
          try insert.run()
        }
      case .objects(let ids):
        for id in ids {
          try insert.bind(1, space.key(of: id))
          try insert.run()
        }
      case .slot, .object: break
      }
    }
  }

  /// Makes the table of a list, if there is none yet.
  static func create(_ number: Int, _ transaction: ReadTransaction) throws { try transaction.statement(sql: creation(number)).run() }

  static func empty(_ count: Int, _ transaction: ReadTransaction) throws {
    for number in 0..<count { try transaction.statement(sql: emptying(number)).run() }
  }
}
