// ConstraintCode: which kind of constraint a statement has run into.

/// SQLite's extended codes of constraints.
enum ConstraintCode {
  static let foreignKey: Int32 = 787
  static let primaryKey: Int32 = 1555
  static let unique: Int32 = 2067
  static let rowID: Int32 = 2579
}
