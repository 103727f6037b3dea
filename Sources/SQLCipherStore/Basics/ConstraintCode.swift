/// SQLite's extended result codes for constraint violations.
enum ConstraintCode {
  static let foreignKey: Int32 = 787
  static let primaryKey: Int32 = 1555
  static let unique: Int32 = 2067
  static let rowID: Int32 = 2579
}
