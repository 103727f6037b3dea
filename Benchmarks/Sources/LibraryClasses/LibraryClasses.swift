// The bookshop's classes, generated from the model next to this file in a separate module, as an application may do.
