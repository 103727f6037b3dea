// The classes of a model that can be synchronized, generated from the model next to this file in a separate module, as an application may do.
