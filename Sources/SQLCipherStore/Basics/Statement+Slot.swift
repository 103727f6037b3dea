import ObjectModel
import ObjectStore
import SQLCipherConnection
import StoreKeys

extension Statement {
  /// Binds a value. SQLite copies it.
  func bind(_ index: Int32, _ slot: Slot) throws(StoreAccessError) {
    switch slot {
    case .null: try bindNull(index)
    case .int(let value): try bind(index, value)
    case .real(let value): try bind(index, value)
    case .text(let value): try bind(index, value)
    case .bytes(let value): try bind(index, value)
    }
  }

  /// Returns the value of a column as stored. Text that is not valid UTF-8 is returned as bytes, which no string attribute accepts.
  func slot(_ column: Int32) -> Slot {
    switch type(column) {
    case .integer: .int(int64(column))
    case .real: .real(double(column))
    case .text: RowImage.text(textBuffer(column)).map { .text($0) } ?? .bytes(data(column))
    case .blob: .bytes(data(column))
    case .null: .null
    }
  }
}
